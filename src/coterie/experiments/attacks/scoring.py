"""What was measured beside what was promised, with an interval; and whether the promise is kept."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

LEVEL = 0.95
Kept = Literal["yes", "no", "open"]
"""'open' where the interval reaches across the bar: more seeds would tell."""


@dataclass(frozen=True)
class Row:
    """One number of the suite."""

    attack: str
    where: str
    """Under which partition, or against which method."""
    what: str
    value: float | None
    low: float | None
    high: float | None
    bar: float | None = None
    """What is promised; None where nothing is."""
    at_least: bool = False
    """Whether the bar is a floor; a ceiling otherwise."""
    count: int = 0
    """Behind it: clients for shares, seeds for means."""

    @property
    def kept(self) -> Kept | None:
        """Whether the promise is kept with the whole interval, broken with the whole interval, or neither."""
        if self.bar is None or self.value is None or self.low is None or self.high is None:
            return None
        worst, best = (self.low, self.high) if self.at_least else (-self.high, -self.low)
        bar = self.bar if self.at_least else -self.bar
        return "yes" if worst >= bar else "no" if best < bar else "open"

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {**asdict(self), "kept": self.kept}


def wilson(hits: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share.

    >>> [round(end, 4) for end in wilson(400, 400)], [round(end, 4) for end in wilson(1, 10)]
    ([0.9905, 1.0], [0.0179, 0.4042])
    """
    z = float(stats.norm.ppf((1 + LEVEL) / 2))
    share, spread = hits / of, z**2 / of
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * np.sqrt(share * (1 - share) / of + spread / (4 * of))
    return (0.0 if hits == 0 else float(middle - half)), (1.0 if hits == of else float(middle + half))


def share(hits: ArrayLike, of: ArrayLike) -> tuple[float | None, float | None, float | None]:
    """A share of all clients of all seeds, with Wilson's interval."""
    some, all_of = int(np.sum(hits)), int(np.sum(of))
    return (None, None, None) if not all_of else (some / all_of, *wilson(some, all_of))


def mean(values: ArrayLike) -> tuple[float | None, float | None, float | None]:
    """A mean over seeds, with Student's interval where there are two seeds or more."""
    x = np.asarray(values, np.float64)
    if not len(x):
        return None, None, None
    middle = float(x.mean())
    if len(x) < 2:
        return middle, None, None
    half = float(stats.t.ppf((1 + LEVEL) / 2, len(x) - 1) * x.std(ddof=1) / np.sqrt(len(x)))
    return middle, middle - half, middle + half


def ratio(lying: ArrayLike, truthful: ArrayLike) -> tuple[float | None, float | None, float | None]:
    """A ratio of sums over seeds, with the jackknife's interval.

    >>> ratio([2, 2, 2], [1, 1, 1])
    (2.0, 2.0, 2.0)
    """
    some, base = np.asarray(lying, np.float64), np.asarray(truthful, np.float64)
    if not base.sum() > 0:
        return None, None, None
    whole, count = float(some.sum() / base.sum()), len(base)
    without = base.sum() - base
    if count < 2 or not (without > 0).all():
        return whole, None, None
    left = (some.sum() - some) / without
    half = float(stats.t.ppf((1 + LEVEL) / 2, count - 1) * np.sqrt((count - 1) / count * ((left - left.mean()) ** 2).sum()))
    return whole, whole - half, whole + half
