"""Everyone in turn, without dice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.federation import View
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.roster import Ids, Roster
from coterie.rules import Selector


@dataclass(frozen=True)
class RoundRobin(Selector):
    """Trains those who have waited longest, so that all take turns in the order of their keys (folklore).

    With everybody present this is the usual walk around the table. Who is absent keeps its turn and comes first
    when it is back; who was asked and failed has had its turn, so that a dead client holds up nobody. The state
    is a number for each client, the lowest being next.
    """

    per_round: int
    """How many train in a round."""

    def __post_init__(self) -> None:
        if self.per_round < 1:
            raise ValueError(f"per_round: must be a whole number from 1, not {self.per_round!r}")

    def begin(self, roster: Roster) -> NDArray[np.int64]:
        return np.arange(len(roster), dtype=np.int64)

    def choose(self, view: View, state: NDArray[np.int64]) -> Ids:
        turn = state[view.present]
        view.note(view.present, turn=turn)
        return np.sort(view.present[np.argsort(turn)[: self.per_round]])

    def learn(self, view: View, plan: Plan, replies: Replies, state: NDArray[np.int64]) -> NDArray[np.int64]:
        asked = plan.trainers[np.argsort(state[plan.trainers])]
        turn = state.copy()
        turn[asked] = state.max(initial=-1) + 1 + np.arange(len(asked))
        return turn
