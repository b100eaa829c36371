"""Federated linear regression: clients of a few latent groups, each group with a line of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int64
from numpy.typing import NDArray

from coterie import seeds
from coterie.data.dataset import Dataset
from coterie.data.scheme import at_least
from coterie.data.sources.synthetic import gathered

FIXED: dict[int, tuple[tuple[float, ...], float, float]] = {1: ((3.6,), 1.2, 2.0), 2: ((0.5, 0.7), 0.14, 1.0)}
"""For D = 1 and 2: the mean of θ, the spread of θ, and the mean of the inputs, whose spread is 1.

Tuned to the error levels of FedCVR-Bolt's Table 1, whose own numbers are not printed.
"""


def regression(
    dims: int = 1,
    groups: int = 2,
    *,
    clients: int = 100,
    samples: int = 100,
    test: float = 0.2,
    theta: Sequence[float] | None = None,
    theta_spread: float | None = None,
    x_mean: float | None = None,
    even: bool = False,
    seed: int = 0,
) -> Dataset:
    """Samples (x, θ·x) where θ is drawn anew for each sample around its group's mean (FedCVR-Bolt, App. B.3).

    Each client belongs to one of `groups` groups, drawn uniformly; with `even` each group has as many. D = 1 has one input
    and no intercept; D = 2 has one input and the constant 1. With two groups their means are θ and −θ; with one, which is
    IID, θ.

    Where the source is silent: it prints no parameters. Those of `FIXED` reach the errors of its table: D = 1
    θ = 3.6 ± 1.2, x ~ N(2, 1); D = 2 θ = (0.5, 0.7) ± 0.14, x ~ N(1, 1). Of 100 samples 80 are for training.

    >>> regression(dims=2, groups=1, clients=3).x[:, 1].tolist() == [1.0] * 240
    True
    """
    at_least(1, clients=clients, samples=samples)
    if dims not in FIXED or groups not in (1, 2):
        raise ValueError(f"regression: dims must be 1 or 2 and groups 1 or 2, not {dims!r} and {groups!r}")
    mean, spread, center = FIXED[dims]
    mean, spread = tuple(theta or mean), spread if theta_spread is None else theta_spread
    if len(mean) != dims or not 0 <= spread < np.inf:
        raise ValueError(f"regression: theta needs {dims} numbers and theta_spread a number from 0")
    sides = 1 - 2 * groups_of(groups, clients, seed, even)
    parts = [
        _client(seeds.rng(seed, "regression", k), side * np.array(mean), spread, center if x_mean is None else x_mean, samples)
        for k, side in enumerate(sides)
    ]
    return gathered(f"regression({dims}, {groups})", [x for x, _ in parts], [y for _, y in parts], test)


def groups_of(groups: int, clients: int, seed: int = 0, even: bool = False) -> Int64[np.ndarray, " clients"]:
    """The latent group of each client, 0 or 1: what a rule has to find out."""
    dice = seeds.rng(seed, "regression", "groups")
    return dice.permutation(np.arange(clients) % groups) if even else dice.integers(groups, size=clients)


def _client(
    dice: np.random.Generator, mean: NDArray[np.float64], spread: float, center: float, samples: int
) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
    x = np.ones((samples, len(mean)))
    x[:, 0] = dice.normal(center, 1, samples)
    thetas = dice.normal(mean, spread, (samples, len(mean)))
    return x, (thetas * x).sum(axis=1)
