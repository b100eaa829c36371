"""Training a cohort through a federation, round by round, with a look at each client's conduct."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coterie.aggregators import BySize
from coterie.backbones import SGD
from coterie.federation import Federation, Steps, View
from coterie.plan import Plan
from coterie.recipe import Central, play
from coterie.replies import Replies
from coterie.roster import Ids
from coterie.rules import Selector

Conduct = tuple[str, str]
"""Honest, dishonest or missed, and why."""


@dataclass(frozen=True)
class Cohort(Selector):
    """Trains the winners of an auction, and nobody else."""

    members: tuple[str, ...]
    """Their keys in the federation."""

    def choose(self, view: View, state: Any) -> Ids:
        mine = np.sort(np.array([view.roster.id_of(member) for member in self.members], dtype=np.intp))
        return mine[np.isin(mine, view.present)]

    def learn(self, view: View, plan: Plan, replies: Replies, state: Any) -> Any:
        """Keeps what the replies of the round tell of each client's conduct."""
        judged = {int(client): ("honest", "an update that was accepted") for client in replies.clients}
        judged |= {client: ("missed", f"the reply was rejected: {reason}") for client, reason in replies.rejected.items()}
        judged |= {client: ("missed", f"no reply: {reason}") for client, reason in replies.lost.items()}
        return judged


@dataclass(frozen=True)
class Trained:
    """A round of a cohort's training."""

    round: int
    asked: int
    answered: int
    used: int
    accuracy: float | None
    loss: float | None
    judged: Mapping[str, Conduct] = field(default_factory=dict)
    """How each member behaved."""


def train(
    federation: Federation, members: Sequence[str], rounds: int, steps: Steps = Steps(epochs=2, lr=0.05)
) -> Iterator[Trained]:
    """Trains a cohort on a federation: any federation, in this process or over Flower.

    All that is drawn comes from the federation's seed, so training that was cut off is played again to the same rounds.
    """
    recipe = Central(SGD(steps), BySize(), Cohort(tuple(members)))
    keys = federation.roster.keys
    for record in play(recipe, federation, rounds):
        judged = {keys[client]: conduct for client, conduct in record.state["selector"].items()}
        absent = {member: ("missed", "was not there") for member in members if member not in judged}
        yield Trained(
            record.round,
            len(record.asked),
            len(record.answered),
            len(record.used),
            _number(record.accuracy),
            _number(record.loss),
            {**judged, **absent},
        )


def federation_of(settings: Mapping[str, Any], data_dir: str | None = None) -> Federation:
    """The federation that a ground's settings describe: simulated clients, with their data and their conduct."""
    from coterie.data import SCHEMES
    from coterie.simulation import simulate

    scheme = dict(settings["partition"])
    return simulate(
        settings["dataset"],
        partition=SCHEMES[scheme.pop("scheme")](**scheme),
        clients=settings["clients"],
        seed=settings["seed"],
        model=settings.get("model", "mlp"),
        holdout=0.0,
        workers=1,
        data_dir=data_dir,
        remember=False,
    )


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
