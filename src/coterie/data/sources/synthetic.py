"""Synthetic(α, β): softmax regressions that differ from client to client."""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float, Int64

from coterie import seeds
from coterie.data.dataset import Dataset
from coterie.data.scheme import at_least, positive

DIMENSIONS, CLASSES = 60, 10


def synthetic(
    alpha: float = 1.0,
    beta: float = 1.0,
    *,
    clients: int = 100,
    sizes: Literal["lognormal", "equal"] = "lognormal",
    test: float = 0.2,
    seed: int = 0,
) -> Dataset:
    """Samples of `clients` natural clients, each with a model and inputs of its own (FedProx, Li et al., 2020).

    Client k draws u ~ N(0, α), its weights and biases from N(u, 1), B ~ N(0, β) and the mean v of its inputs from
    N(B, 1); its 60 inputs are N(v, Σ) with Σ diagonal, Σ_jj = j^−1.2, and its labels the largest of ten outputs. α and β
    are used as standard deviations, as in the authors' code. `sizes` is 50 + ⌊lognormal(4, 2)⌋ samples a client, or
    500 for everyone ("equal"). The share `test` of each client's samples is for testing (their code takes a tenth).

    >>> data = synthetic(1, 1, clients=5, seed=3)
    >>> data.shape, data.classes, sorted(set(data.owners.tolist()))
    ((60,), 10, [0, 1, 2, 3, 4])
    """
    at_least(1, clients=clients)
    positive(test=test)
    for name, value in [("alpha", alpha), ("beta", beta)]:
        if not 0 <= value < np.inf:
            raise ValueError(f"{name}: must be a number from 0, not {value!r}")
    counts = _sizes(sizes, clients, seed)
    parts = [_client(seeds.rng(seed, "synthetic", k), alpha, beta, int(n)) for k, n in enumerate(counts)]
    title = f"synthetic({alpha:g}, {beta:g})"
    return gathered(title, [x for x, _ in parts], [y for _, y in parts], test, classes=CLASSES)


def _sizes(kind: str, clients: int, seed: int) -> Int64[np.ndarray, " clients"]:
    if kind == "equal":
        return np.full(clients, 500, dtype=np.int64)
    if kind == "lognormal":
        return 50 + seeds.rng(seed, "synthetic", "sizes").lognormal(4, 2, clients).astype(np.int64)
    raise ValueError(f"sizes: must be 'lognormal' or 'equal', not {kind!r}")


def _client(
    dice: np.random.Generator, alpha: float, beta: float, samples: int
) -> tuple[Float[np.ndarray, "n 60"], Int64[np.ndarray, " n"]]:
    u, b = dice.normal(0, alpha), dice.normal(0, beta)
    weights, biases = dice.normal(u, 1, (DIMENSIONS, CLASSES)), dice.normal(u, 1, CLASSES)
    mean = dice.normal(b, 1, DIMENSIONS)
    x = dice.normal(mean, np.arange(1, DIMENSIONS + 1) ** -0.6, (samples, DIMENSIONS))
    return x, (x @ weights + biases).argmax(axis=1)


def gathered(name: str, x: list[Float[np.ndarray, "n d"]], y: list[np.ndarray], test: float, classes: int = 0) -> Dataset:
    """One dataset of many clients' samples, the last of each for testing."""
    owners = np.repeat(np.arange(len(x)), [len(rows) for rows in x])
    place = np.concatenate([np.arange(len(rows)) / len(rows) for rows in x])
    judged = place >= 1 - test - 1e-9
    inputs, targets = np.concatenate(x), np.concatenate(y)
    return Dataset.of(
        name,
        *(inputs[~judged], targets[~judged], inputs[judged], targets[judged]),
        classes=classes,
        owners=owners[~judged],
        owners_test=owners[judged],
    )
