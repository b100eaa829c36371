"""Dirichlet draws as logarithms, which do not underflow where concentrations are small."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike, NDArray


def log_gamma_draws(shape: ArrayLike, dice: np.random.Generator) -> NDArray[np.float64]:
    """Logarithms of Gamma(shape, 1) draws, one per entry.

    Γ(a) is Γ(a+1)·U^(1/a), so log Γ(a) = log Γ(a+1) + log(U)/a, which is finite where Γ(a) itself would be 0
    (at a = 0.01 most draws are below 1e-300).
    """
    shape = np.asarray(shape, dtype=float)
    return np.asarray(np.log(dice.standard_gamma(shape + 1)) - dice.standard_exponential(shape.shape) / shape)


def shares(alpha: ArrayLike, dice: np.random.Generator) -> Float[np.ndarray, "*rows m"]:
    """Dirichlet draws over the last axis; exact zeros may appear, but never a row of zeros."""
    return normalized(log_gamma_draws(alpha, dice))


def normalized(logs: Float[np.ndarray, "*rows m"]) -> Float[np.ndarray, "*rows m"]:
    """Weights given as logarithms, scaled to sum to 1 over the last axis."""
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
