"""What is held of each class before each place of a ranking, added up over its holders in the order of the ranking.

While a class is short, every holder of it is taken. So these sums are what a walk has bought of the class, and they
tell the walk without a winner without walking it: each of the winner's classes is filled by the holder at which the
sum reaches the quota plus what the winner holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.market.ranking import Positions
from coterie.market.walk import Walk

Entries = NDArray[np.intp]
"""Rows of the table of (class, place) pairs."""


@dataclass(frozen=True, eq=False)
class Sums:
    """One row for each class and holder of it, by class and then by rank, with the samples added up over all rows."""

    place: Positions
    kind: NDArray[np.intp]
    """The class."""
    samples: NDArray[np.int64]
    """0 for those whom the walk refused: it went on as if they were not there."""
    total: NDArray[np.int64]
    """Samples of this and all earlier rows."""
    start: NDArray[np.intp]
    """For each class its first row, and the number of rows."""

    @classmethod
    def of(cls, walk: Walk) -> Sums:
        by_class = walk.ranking.held.tocsc()
        place = by_class.indices.astype(np.intp)
        samples = np.where(walk.refused[place], 0, by_class.data)
        start = by_class.indptr.astype(np.intp)
        kind = np.repeat(np.arange(len(start) - 1), np.diff(start))
        return cls(place, kind, samples, np.cumsum(samples), start)

    @property
    def base(self) -> NDArray[np.int64]:
        """For each class the samples of all rows before its first."""
        return np.concatenate([np.zeros(1, np.int64), self.total])[self.start[:-1]]

    def filled(self, kind: NDArray[np.intp], level: NDArray[np.int64]) -> Entries:
        """Returns the first row with which a class reaches a level, or a row behind the class's last."""
        return np.searchsorted(self.total, self.base[kind] + level)

    def before(self, place: int, places: int) -> NDArray[np.int64]:
        """Returns what is held of each class before a place."""
        classes = np.arange(len(self.start) - 1)
        row = np.searchsorted(self.kind * places + self.place, classes * places + place)
        return np.concatenate([np.zeros(1, np.int64), self.total])[row] - self.base


def place_of(sums: Sums, row: Entries, kind: NDArray[np.intp], places: int) -> Positions:
    """Returns where the holder of a row stands, or behind everybody where the class has no such row."""
    behind = row >= sums.start[kind + 1]
    return np.append(sums.place, places)[np.where(behind, len(sums.place), row)]
