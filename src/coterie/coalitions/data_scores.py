"""What a client's data are worth by their labels alone: the data scores of StackFed (thesis, Eq. 4.1 to 4.10).

A score is the product of the share of all classes held, the share of all samples, and the Shannon entropy of the class shares
(natural logarithm), each times a weight. Of a group: the union of classes, summed counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

Counts = Int[np.ndarray, "... classes"]
Scores = Float[np.ndarray, "..."]


@dataclass(frozen=True)
class Worth:
    """How counts of labels become a score, within a population.

    >>> Worth.within([[5, 5, 0], [0, 5, 5]]).score([[5, 5, 0], [5, 10, 5]]).round(4).tolist()
    [0.231, 1.0397]
    """

    classes: int
    """How many classes anybody holds."""
    samples: int
    """How many samples all hold together."""
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """W_DC, W_DV and W_DD (4.5)."""

    @classmethod
    def within(cls, counts: ArrayLike, weights: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Worth:
        """For a population given as clients × classes."""
        held = np.asarray(counts)
        return cls(int((held > 0).any(axis=0).sum()), int(held.sum()), weights)

    def parts(self, counts: ArrayLike) -> tuple[Scores, Scores, Scores]:
        """DC, DV and DD of clients, or of groups by their summed counts, along the last axis; unweighted."""
        held = np.asarray(counts)
        total = held.sum(axis=-1)
        coverage = (held > 0).sum(axis=-1) / max(self.classes, 1)
        return coverage, total / max(self.samples, 1), entropy(_logs(held).sum(axis=-1), total)

    def score(self, counts: ArrayLike) -> Scores:
        """DS (4.5), or that of a group (4.9)."""
        coverage, volume, spread = self.parts(counts)
        return np.asarray(coverage * volume * spread * float(np.prod(self.weights)))

    def together(self, one: Counts, others: Counts) -> Scores:
        """The scores of one client with each of some others (4.9)."""
        return self.score(one + others)


@cache
def _table() -> NDArray[np.float64]:
    """What c ln c is of small whole numbers c: to look it up takes a third of the time."""
    return np.asarray(xlogy(np.arange(2**16), np.arange(2**16)))


def _logs(counts: Counts) -> NDArray[np.float64]:
    """The c ln c of each count c."""
    small = counts.dtype.kind in "iu" and counts.size > 0 and counts.min() >= 0 and counts.max() < len(_table())
    return _table()[counts] if small else np.asarray(xlogy(counts, counts))


def entropy(logs: ArrayLike, total: ArrayLike) -> NDArray[np.float64]:
    """Entropies of counts, from Σ c ln c and Σ c: ln Σc − Σ c ln c / Σc, 0 where there are none."""
    summed = np.asarray(total, np.float64)
    shared = np.divide(logs, summed, out=np.zeros_like(summed), where=summed > 0)
    return np.asarray(np.log(np.maximum(summed, 1)) - shared).clip(min=0)


def class_diversity(counts: ArrayLike) -> float:
    """The smallest over the largest class of pooled data; 1 is perfect balance (the thesis's class diversity index).

    >>> class_diversity([[2, 4], [1, 2]])
    0.5
    """
    pooled = np.atleast_2d(np.asarray(counts)).sum(axis=0)
    return float(pooled.min() / pooled.max()) if pooled.size and pooled.max() > 0 else 0.0
