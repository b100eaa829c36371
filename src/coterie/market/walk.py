"""Algorithm 9: down the ranking, take whoever brings something that is still needed and fits the budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coterie.market.ranking import Money, Positions, Ranking
from coterie.market.task import Amount


class Need:
    """What is still to be bought while a walk is under way: samples of each class, and the money left for them."""

    def __init__(self, ranking: Ranking, room: Amount, missing: Sequence[int]) -> None:
        self.ranking, self.room, self.missing = ranking, room, list(missing)
        self.open = sum(short > 0 for short in missing)

    @classmethod
    def at_first(cls, ranking: Ranking) -> Need:
        """Everything is missing and nothing is spent."""
        task = ranking.task
        return cls(ranking, math.inf if task.budget is None else task.budget, task.quotas.tolist())

    def copy(self) -> Need:
        """The same need, to be met in another way."""
        return Need(self.ranking, self.room, self.missing)

    def wants(self, place: int) -> bool:
        """Whether who stands there holds samples of a class that is still short."""
        rows, missing = self.ranking.rows, self.missing
        for d in self.ranking.held.indices[rows[place] : rows[place + 1]].tolist():  # noqa: SIM110 - the innermost loop
            if missing[d] > 0:
                return True
        return False

    def affords(self, place: int) -> bool:
        """Whether the price fits what the budget leaves."""
        return self.ranking.price_list[place] <= self.room

    def take(self, place: int) -> None:
        """Buys all that who stands there holds."""
        held, rows = self.ranking.held, self.ranking.rows
        row = slice(rows[place], rows[place + 1])
        for d, samples in zip(held.indices[row].tolist(), held.data[row].tolist(), strict=True):
            self.open -= 0 < self.missing[d] <= samples
            self.missing[d] -= samples
        self.room -= self.ranking.price_list[place]


@dataclass(frozen=True, eq=False)
class Walk:
    """Who was taken on the way down a ranking, and who was left out because of the budget alone."""

    ranking: Ranking
    taken: NDArray[np.bool_]
    refused: NDArray[np.bool_]
    """Who was needed but did not fit what the budget left."""
    end: int
    """How many places were looked at before all quotas were met."""
    missing: NDArray[np.int64]
    """For each class the samples that could not be bought."""

    @property
    def winners(self) -> Positions:
        """The places of those who were taken."""
        return np.flatnonzero(self.taken)

    @cached_property
    def spent(self) -> Money:
        """What had been spent on bids before each place was looked at, and in the end."""
        return np.concatenate([np.zeros(1, self.ranking.prices.dtype), np.cumsum(np.where(self.taken, self.ranking.prices, 0))])

    @cached_property
    def room(self) -> Money:
        """What the budget left before each place was looked at, and in the end."""
        budget = self.ranking.task.budget
        return np.full(len(self.spent), np.inf) if budget is None else budget - self.spent


def walk(ranking: Ranking) -> Walk:
    """Selects winners by Algorithm 9.

    A required class that nobody has brought yet is a class that is still short, so the source's two conditions, a
    new class or a missing quantity, are one. Classes that are not required count for neither, where the source's
    line 12 would take a client for them.
    """
    need = Need.at_first(ranking)
    taken, refused = np.zeros(len(ranking), dtype=bool), np.zeros(len(ranking), dtype=bool)
    cheapest = np.minimum.accumulate(ranking.prices[::-1])[::-1].tolist()
    end = 0
    for place in range(len(ranking)):
        if not need.open:
            break
        if need.room < cheapest[place]:  # nobody further down fits any more
            refused[place:] = ranking.hold_any(np.array(need.missing) > 0)[place:]
            end = len(ranking)
            break
        end = place + 1
        if not need.wants(place):
            continue
        if need.affords(place):
            need.take(place)
            taken[place] = True
        else:
            refused[place] = True
    return Walk(ranking, taken, refused, end, np.maximum(need.missing, 0))
