"""Training a cohort through a federation, round by round, with a look at each client's conduct."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coterie.aggregators import BySize
from coterie.backbones import SGD
from coterie.federation import Federation, Steps, View
from coterie.recipe import Central, play
from coterie.record import Record
from coterie.roster import Ids, Roster
from coterie.rules import Believer, Selector
from coterie.trust.audit import Audit

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


STEPS = Steps(epochs=5, batch_size=16, lr=0.1)
"""How far a client descends in a round."""
AUDIT = Audit()
"""Who looks at the updates."""


def train(
    federation: Federation, members: Sequence[str], rounds: int, steps: Steps = STEPS, audit: Believer = AUDIT
) -> Iterator[Trained]:
    """Trains a cohort on a federation: any federation, in this process or over Flower.

    An audit looks at every update. What it doubts is left out of the model, and a client that it has come to suspect is
    not asked any more. All that is drawn comes from the federation's seed, so training that was cut off is played again
    to the same rounds.
    """
    recipe = Central(SGD(steps), BySize(), Cohort(tuple(members)), trust=audit)
    for record in play(recipe, federation, rounds):
        yield Trained(
            record.round,
            len(record.asked),
            len(record.answered),
            len(record.used),
            _number(record.accuracy),
            _number(record.loss),
            conduct(record, members, federation.roster),
        )


def conduct(record: Record, members: Sequence[str], roster: Roster) -> dict[str, Conduct]:
    """How each member of a cohort behaved in a round: honest, dishonest, or missing, which is no offense."""
    present, asked = (set(ids.tolist()) for ids in (record.available, record.asked))
    answered = set(record.answered.tolist())
    judged: dict[str, Conduct] = {}
    for member in members:
        client = roster.id_of(member)
        if client in record.doubted:
            judged[member] = ("dishonest", record.doubted[client])
        elif client in answered:
            judged[member] = ("honest", "it trained")
        elif client in record.rejected:
            judged[member] = ("missed", f"its reply could not be used: {record.rejected[client]}")
        elif client in record.lost:
            judged[member] = ("missed", f"no reply: {record.lost[client]}")
        elif client in present and client not in asked:
            judged[member] = ("missed", "it was not asked any more, after what it had sent before")
        else:
            judged[member] = ("missed", "it was not there")
    return judged


def federation_of(settings: Mapping[str, Any], data_dir: str | None = None) -> Federation:
    """The federation that a ground's settings describe: simulated clients, with their data and their conduct."""
    from coterie.data import SCHEMES
    from coterie.simulation import World, simulate

    scheme = dict(settings["partition"])
    return simulate(
        settings["dataset"],
        partition=SCHEMES[scheme.pop("scheme")](**scheme),
        clients=settings["clients"],
        seed=settings["seed"],
        model=settings.get("model", "mlp"),
        holdout=0.0,
        world=World(**settings.get("world", {})),
        workers=1,
        data_dir=data_dir,
        remember=False,
    )


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
