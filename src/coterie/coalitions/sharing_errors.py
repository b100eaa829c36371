"""What a player's error is expected to be when players share what they learned (Donahue and Kleinberg, 2021).

Each player j estimates its own truth, which was drawn with variance `variance` (σ²) around a mean common to all. From its own
samples alone its expected squared error is `local[j]`. Players in a coalition mix their estimates with weights v_j that sum to
1, and err_j = Σ_i v_ji² local_i + σ² (Σ_{i≠j} v_ji² + (Σ_{i≠j} v_ji)²): noise that averages out, and truths that differ.

All functions take the members of one coalition. Mean estimation and linear regression differ in `local` only
(`by_mean`, `by_regression`); for regression `variance` is b = Σ_d E[x_d²] σ_d².

>>> sizes = [30, 30, 30, 300]
>>> local = by_mean(sizes, noise=10)
>>> coarse([30, 300], by_mean([30, 300], noise=10), variance=1).round(6).tolist()
[0.286385, 0.032864]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Errors = NDArray[np.float64]
"""One number for each member."""

Weights = NDArray[np.float64]
"""Members × members: row j is how member j weighs the others."""


def by_mean(sizes: ArrayLike, noise: float) -> Errors:
    """Local errors where a mean is estimated: μ_e / n, with `noise` μ_e the mean variance of one sample.

    >>> by_mean([5, 10], noise=10).tolist()
    [2.0, 1.0]
    """
    return _positive("noise", noise) / _sizes(sizes)


def by_regression(sizes: ArrayLike, noise: float, dimension: int) -> Errors:
    """Local errors of linear regression on normal inputs of mean 0: μ_e D / (n − D − 1).

    >>> by_regression([8, 23], noise=10, dimension=2).tolist()
    [4.0, 1.0]
    """
    counts = _sizes(sizes)
    if (counts <= dimension + 1).any():
        raise ValueError(f"sizes: regression in {dimension} dimensions needs more than {dimension + 1} samples of each player")
    return _positive("noise", noise) * dimension / (counts - dimension - 1)


def mixed(weights: Weights, local: ArrayLike, variance: float) -> Errors:
    """Errors of players who mix the members' estimates with any weights; row j is player j's, and sums to 1."""
    weights, errors = np.asarray(weights, np.float64), np.asarray(local, np.float64)
    if weights.shape != (len(errors), len(errors)) or not np.allclose(weights.sum(axis=1), 1):
        raise ValueError(f"weights: must be {len(errors)} rows that sum to 1, one for each member")
    others = weights * ~np.eye(len(errors), dtype=bool)
    strangers: Errors = (others**2).sum(axis=1) + others.sum(axis=1) ** 2
    return (weights**2 @ errors).astype(np.float64) + variance * strangers


def apart(sizes: ArrayLike) -> Errors:
    """How far the coalition's size-weighted mean lies from each member's truth, in units of σ²: T_j = 1 + Q/N² − 2n_j/N.

    N is the sum of the members' sizes, Q the sum of their squares.
    """
    counts = _sizes(sizes)
    total = float(counts.sum())
    return 1 + float((counts**2).sum()) / total**2 - 2 * counts / total


def uniform(sizes: ArrayLike, local: ArrayLike, variance: float) -> Errors:
    """Errors where everybody uses the size-weighted mean of all: for mean estimation μ_e/N + σ² T_j.

    >>> uniform([5, 5, 25], by_mean([5, 5, 25], noise=10), variance=1).round(3).tolist()
    [1.551, 1.551, 0.408]
    """
    return _pooled(sizes, local) + variance * apart(sizes)


def coarse_weights(sizes: ArrayLike, local: ArrayLike, variance: float) -> Errors:
    """The share w that each member best gives to its own estimate, the rest going to the size-weighted mean of all.

    For mean estimation w = T σ² / (T σ² + μ_e(1/n − 1/N)). In regression the optimum may lie outside [0, 1]; then the
    nearer end is best.
    """
    errors, share = np.asarray(local, np.float64), _sizes(sizes) / _sizes(sizes).sum()
    shared = share * errors
    gain = _pooled(sizes, local) + variance * apart(sizes) - shared
    slope = errors - shared + gain
    best: Errors = np.divide(gain, slope, out=np.ones(len(errors)), where=slope > 0)
    return best.clip(0, 1)


def coarse(sizes: ArrayLike, local: ArrayLike, variance: float, weights: ArrayLike | None = None) -> Errors:
    """Errors of w·own + (1 − w)·mean; with the best w unless others are given."""
    errors, share = np.asarray(local, np.float64), _sizes(sizes) / _sizes(sizes).sum()
    w = coarse_weights(sizes, local, variance) if weights is None else np.asarray(weights, np.float64)
    own: Errors = (w**2 + 2 * w * (1 - w) * share) * errors
    return own + (1 - w) ** 2 * (_pooled(sizes, local) + variance * apart(sizes))


def fine_weights(local: ArrayLike, variance: float) -> Weights:
    """The weights with which each member best mixes the members' estimates, each weighed by itself.

    With V = σ² + local and S_j = Σ_{i≠j} 1/V_i: v_jj = (1 + σ² S)/(1 + V_j S), v_jk = local_j / (V_k (1 + V_j S)).
    """
    errors = np.asarray(local, np.float64)
    spread = errors + _positive("variance", variance)
    rest = _rest(spread)
    weights = errors[:, np.newaxis] / (spread * (1 + spread * rest)[:, np.newaxis])
    np.fill_diagonal(weights, (1 + variance * rest) / (1 + spread * rest))
    return weights


def fine(local: ArrayLike, variance: float, weights: Weights | None = None) -> Errors:
    """Errors of a mixture weighed member by member; with the best weights, local_j · v_jj, unless others are given."""
    if weights is not None:
        return mixed(weights, local, variance)
    errors = np.asarray(local, np.float64)
    spread = errors + _positive("variance", variance)
    rest = _rest(spread)
    return errors * (1 + variance * rest) / (1 + spread * rest)


def _pooled(sizes: ArrayLike, local: ArrayLike) -> float:
    counts = _sizes(sizes)
    return float((counts**2 @ np.asarray(local, np.float64)) / counts.sum() ** 2)


def _rest(spread: Errors) -> Errors:
    return float((1 / spread).sum()) - 1 / spread


def _sizes(sizes: ArrayLike) -> Errors:
    counts = np.asarray(sizes, np.float64)
    if counts.ndim != 1 or not (counts > 0).all() or not np.isfinite(counts).all():
        raise ValueError("sizes: must be one number above 0 for each member")
    return counts


def _positive(name: str, value: float) -> float:
    if not 0 < value < np.inf:
        raise ValueError(f"{name}: must be a number above 0, not {value!r}")
    return value
