"""The partition with the smallest total error under uniform sharing, and what stability costs against it.

Everything is in units of σ², with the threshold T = μ_e/σ² in samples. The total counts each player by its size:
Σ_j n_j err_j = (number of coalitions)·T + Σ n − Σ_C Q_C/N_C, where N_C sums the sizes in a coalition and Q_C their squares.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.coalitions.games import Summed
from coterie.coalitions.seating import Labels, canonical
from coterie.coalitions.stability import stable_structures, structures

Facts = NDArray[np.float64]


def total_error(sizes: ArrayLike, labels: ArrayLike, threshold: float) -> float:
    """The total error of a coalition structure.

    >>> round(total_error([1, 8, 15], [0, 0, 1], threshold=10), 3)
    21.778
    """
    counts = np.asarray(sizes, np.float64)
    which = canonical(labels, len(counts))
    total, squares = np.bincount(which, weights=counts), np.bincount(which, weights=counts**2)
    return float(len(total) * threshold + counts.sum() - (squares / total).sum())


def optimal_partition(sizes: ArrayLike, threshold: float) -> Labels:
    """The structure of smallest total error: the small ones together, everybody else alone (Donahue and Kleinberg, 2021b).

    From the smallest on, players join one coalition while none makes the total larger by joining it, which is while
    n (N² + Q)/(N (N + n)) ≤ T; from the first who would, everybody is alone.

    >>> optimal_partition([15, 1, 8], threshold=10).tolist()
    [0, 1, 1]
    """
    counts = np.asarray(sizes, np.float64)
    if counts.ndim != 1 or not (counts > 0).all():
        raise ValueError("sizes: must be one number above 0 for each player")
    order = np.argsort(counts, kind="stable")
    small = counts[order]
    total, squares = np.cumsum(small)[:-1], np.cumsum(small**2)[:-1]
    fits = small[1:] * (total**2 + squares) / (total * (total + small[1:])) <= threshold
    together = len(small) if fits.all() else int(fits.argmin()) + 1
    labels = np.empty(len(small), np.intp)
    labels[order] = np.maximum(np.arange(len(small)) - together + 1, 0)
    return canonical(labels, len(small))


def price_of_anarchy(sizes: ArrayLike, threshold: float, notion: Literal["nash", "individual"] = "individual") -> float:
    """Total error of the worst stable structure over the smallest: by looking at all, for up to about eight players.

    At most 9 for individual stability (Donahue and Kleinberg, 2021b).

    >>> round(price_of_anarchy([1, 8, 15], threshold=10), 4)
    1.0045
    """
    counts = np.asarray(sizes, np.float64)
    game = sharing_game(counts, threshold / counts, 1.0)
    stable = [total_error(counts, labels, threshold) for labels in stable_structures(game, notion)]
    return max(stable, default=np.nan) / min(total_error(counts, labels, threshold) for labels in structures(len(counts)))


def sharing_game(
    sizes: ArrayLike, local: ArrayLike, variance: float, sharing: Literal["uniform", "coarse", "fine"] = "uniform"
) -> Summed:
    """The game in which everybody wants its expected error small; `sharing_errors` says what the three ways of sharing are.

    Works for mean estimation and regression alike, by their local errors.

    >>> from coterie.coalitions.stability import certify
    >>> game = sharing_game([30, 30, 30, 300], [1 / 3, 1 / 3, 1 / 3, 1 / 30], 1.0, "coarse")
    >>> certify(game, [0, 0, 0, 0]).against_core.together  # the large player is not worth what it costs the small ones
    (0, 1, 2)
    """
    n, e = np.broadcast_arrays(np.asarray(sizes, np.float64), np.asarray(local, np.float64))
    if sharing == "fine":
        return Summed(np.column_stack([1 / (variance + e), e]), lambda own, sums: -_fine(own, sums, variance))
    error = {"uniform": _uniform, "coarse": _coarse}[sharing]
    return Summed(np.column_stack([n, n**2, n**2 * e, e]), lambda own, sums: -error(own, sums, variance))


def _uniform(own: Facts, sums: Facts, variance: float) -> Facts:
    share, total = own[..., 0] / sums[..., 0], sums[..., 0]
    return sums[..., 2] / total**2 + variance * (1 + sums[..., 1] / total**2 - 2 * share)


def _coarse(own: Facts, sums: Facts, variance: float) -> Facts:
    shared, error = own[..., 0] / sums[..., 0] * own[..., 3], own[..., 3]
    pooled = _uniform(own, sums, variance)
    slope = error - 2 * shared + pooled
    w: Facts = np.divide(pooled - shared, slope, out=np.ones(np.shape(slope)), where=slope > 0).clip(0, 1)
    return w**2 * error + 2 * w * (1 - w) * shared + (1 - w) ** 2 * pooled


def _fine(own: Facts, sums: Facts, variance: float) -> Facts:
    rest, error = sums[..., 0] - own[..., 0], own[..., 1]
    return error * (1 + variance * rest) / (1 + (variance + error) * rest)
