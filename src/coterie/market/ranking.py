"""Bidders in the order in which an auction looks at them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.market.bids import Bids
from coterie.market.task import Amount, Task
from coterie.market.valuation import Scale, merit

Positions = NDArray[np.intp]
"""Places in the ranking, from 0; the place behind everybody is `len(ranking)`."""

Ids = NDArray[np.intp]
"""Bidders by their row in the bids."""

Money = NDArray[Any]
"""Amounts, int64 where money is whole and float64 where it is not."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """The bidders under the reserve price, best score first; a tie goes to the lower bid, then to the smaller id.

    The score is φ = V + αR − β·bid (Eq. 5.17), with the bid in units of the reserve price under the scale "market".
    Scores are sums and products in a fixed order, so that every machine ranks alike.
    """

    task: Task
    ids: Ids
    """For each place who stands there."""
    prices: Money
    held: sparse.csr_array
    """Places × classes: samples in required classes."""
    unit: Amount
    """What a price is divided by."""
    score: NDArray[np.float64]
    merits: NDArray[np.float64]
    """For each bidder, by id, the score without the price; those over the reserve price included."""
    scores: NDArray[np.float64]
    """For each bidder, by id, the score."""

    @classmethod
    def of(cls, task: Task, bids: Bids, scale: Scale) -> Ranking:
        """Ranks the bidders of a task."""
        if bids.counts.shape[1] != len(task.quotas):
            raise ValueError(f"bids: counts of {bids.counts.shape[1]} classes for a task of {len(task.quotas)} quotas")
        prices = money(task, bids)
        unit = task.reserve_price if scale == "market" else 1
        merits = merit(task, bids, scale)
        scores = merits - task.price_weight * prices / unit
        eligible = np.flatnonzero(prices <= task.reserve_price)
        ids = eligible[np.lexsort((prices[eligible], -scores[eligible]))]
        return cls(task, ids, prices[ids], only_required(task, bids.counts[ids]), unit, scores[ids], merits, scores)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def whole(self) -> bool:
        """Whether money is in whole minor units."""
        return self.prices.dtype == np.int64

    @cached_property
    def rows(self) -> list[int]:
        """Where each place's samples start in `held`, as plain numbers for plain loops."""
        starts: list[int] = self.held.indptr.tolist()
        return starts

    @cached_property
    def price_list(self) -> list[Amount]:
        """The prices as plain numbers for plain loops."""
        prices: list[Amount] = self.prices.tolist()
        return prices

    @cached_property
    def score_list(self) -> list[float]:
        """The scores as plain numbers for plain loops."""
        scores: list[float] = self.score.tolist()
        return scores

    @cached_property
    def _bars(self) -> tuple[NDArray[np.float64], Money, Ids]:
        """What must be beaten to rank before each place: score, price and id; nothing at all behind the last."""
        return np.append(self.score, -np.inf), np.append(self.prices, self.prices.dtype.type(0)), np.append(self.ids, 0)

    def hold_any(self, classes: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Says for each place whether who stands there holds any of these classes."""
        rows = np.repeat(np.arange(len(self)), np.diff(self.held.indptr))
        held = np.bincount(rows, weights=classes[self.held.indices], minlength=len(self))
        return np.asarray(held > 0)

    def stands(self, who: Ids, price: Money, before: Positions) -> NDArray[np.bool_]:
        """Says whether a bidder would, at another price, rank before who stands at a place."""
        scores, prices, ids = self._bars
        score = self.merits[who] - self.task.price_weight * price / self.unit
        lower = (price < prices[before]) | ((price == prices[before]) & (who < ids[before]))
        ahead: NDArray[np.bool_] = (score > scores[before]) | ((score == scores[before]) & lower)
        return ahead

    def reach(self, who: Ids, before: Positions) -> Money:
        """Returns the highest price, up to the reserve, at which `stands` holds; −1 (or less) where none does.

        In floating-point money it is the supremum. In whole money it is the largest whole price, found from the same
        number and corrected by asking `stands`, so that rounding cannot be off by one.
        """
        even = (self.merits[who] - self._bars[0][before]) * self.unit / self.task.price_weight
        even = np.minimum(even, float(self.task.reserve_price))
        return self._largest(who, before, even) if self.whole else even

    def _largest(self, who: Ids, before: Positions, even: NDArray[np.float64]) -> Money:
        """Bisects between whole prices; the search starts two beside the answer of exact arithmetic."""
        guess = np.floor(np.maximum(even, -1.0)).astype(np.int64)
        low = np.maximum(guess - 2, -1)
        low = np.where((low >= 0) & ~self.stands(who, low, before), -1, low)
        high = np.minimum(guess + 2, self.task.reserve_price)
        high = np.where(self.stands(who, high, before), self.task.reserve_price, high)
        while (low < high).any():
            middle = low + (high - low + 1) // 2
            fits = self.stands(who, middle, before)
            low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
        return low


def first_place(low: Positions, high: Positions, fits: Callable[[Positions], NDArray[np.bool_]]) -> Positions:
    """Returns for each of many bidders its first place from `low` on that fits, or `high` where none before it does.

    What fits once must fit from there on.

    >>> first_place(np.array([0, 2, 0]), np.array([9, 9, 3]), lambda place: place >= 4).tolist()
    [4, 4, 3]
    """
    while (open_ := low < high).any():
        middle = (low + high) // 2
        found = fits(middle)
        low, high = np.where(open_ & ~found, middle + 1, low), np.where(open_ & found, middle, high)
    return high


def money(task: Task, bids: Bids) -> Money:
    """Returns the prices: whole if the budget and the reserve price are whole too."""
    return bids.prices if task.whole and bids.whole else bids.prices.astype(np.float64)


def only_required(task: Task, counts: sparse.csr_array) -> sparse.csr_array:
    """Returns the counts without classes that are not needed."""
    if task.required.all():
        return counts
    matrix = counts.copy()
    matrix.data = matrix.data * task.required[matrix.indices]
    matrix.eliminate_zeros()
    return matrix
