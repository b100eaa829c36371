"""Who sets out to train, who is lost on the way, and who is refused before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.plan import Plan
from coterie.roster import Ids

MASTERLESS = "its master failed, and the stand-in too"


@dataclass(frozen=True, eq=False)
class Outing:
    """What becomes of a plan's trainers before any reply is out."""

    reached: Ids
    """Who received the model."""
    training: Ids
    """Who trained to the end, whether or not a reply came out."""
    lost: Mapping[int, str]
    """Who will not reply, with the reason."""

    @property
    def waits(self) -> bool:
        """Whether somebody broke off, for whom the round waits in vain."""
        return any(reason.startswith("failed") for reason in self.lost.values())


def set_out(plan: Plan, present: Ids, sizes: NDArray[np.int64], failing: Mapping[int, str]) -> Outing:
    """Sorts the trainers by what befalls them; `failing` names the stage at which a client fails."""
    trainers = plan.trainers
    there, able = np.isin(trainers, present), sizes[trainers] > 0
    reached = trainers[there & able]
    lost = dict.fromkeys(trainers[~there].tolist(), "absent")
    lost |= dict.fromkeys(trainers[there & ~able].tolist(), "no training samples")
    broke = {client: f"failed {failing[client]} training" for client in reached.tolist() if client in failing}
    training = [client for client in reached.tolist() if failing.get(client, "after") == "after"]
    return Outing(reached, np.array(training, dtype=np.intp), _without_master(plan, broke) | lost | broke)


def _without_master(plan: Plan, broke: Mapping[int, str]) -> dict[int, str]:
    """Who trains in vain because its master failed, and the stand-in too. Only masters with stand-ins are looked at."""
    coalitions = plan.coalitions
    if plan.route != "leaders" or coalitions is None or coalitions.leaders is None or coalitions.stand_ins is None:
        return {}
    gone = np.isin(coalitions.leaders, list(broke)) & np.isin(coalitions.stand_ins, list(broke))
    labels = coalitions.labels[plan.trainers]
    return dict.fromkeys(plan.trainers[(labels >= 0) & gone[labels]].tolist(), MASTERLESS)


def check(plan: Plan, clients: int, rows: int) -> None:
    """Refuses a plan that speaks of clients or models that there are not."""
    targets = len(plan.keeps)
    follows = np.zeros(clients, np.intp) if plan.follows is None else np.asarray(plan.follows)
    if follows.shape != (clients,):
        raise ValueError(f"plan: 'follows' must name a model for each of {clients} clients, not for {follows.shape}")
    for name, numbers, count, what in [
        ("trainers", plan.trainers, clients, "clients"),
        ("start", plan.start, rows, "models of today"),
        ("keeps", plan.keeps, rows, "models of today"),
        ("follows", follows, targets, "models of tomorrow"),
    ]:
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < count):
            raise ValueError(f"plan: '{name}' runs from {numbers.min()} to {numbers.max()}, but there are {count} {what}")
