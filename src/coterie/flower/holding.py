"""What a client holds: its data, and a way to run models on them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie import seeds
from coterie.federation import Split
from coterie.simulation.clients import Clients
from coterie.simulation.models import Model, path_for
from coterie.simulation.path import Path

if TYPE_CHECKING:
    from coterie.simulation.general import Loss


@dataclass(frozen=True, eq=False)
class Holding:
    """One client's data, and the path that runs models on them. `Holding.of` makes one of arrays."""

    path: Path
    clients: Clients
    client: int = 0
    """Which of the clients it is."""
    seed: int | None = None
    """The dice that the server must not know, those of private answers: a secret of this process if None."""

    @classmethod
    def of(
        cls,
        model: Model,
        x: ArrayLike,
        y: ArrayLike,
        *,
        classes: int,
        holdout: float = 0.2,
        loss: Loss | None = None,
        device: str = "cpu",
        seed: int | None = None,
    ) -> Holding:
        """One client's samples, of which a share is held out to answer questions on.

        Args:
            model: An architecture's name, a function that makes a module, or a module; the same on all sides.
            x: Samples, the first axis running over them.
            y: Labels from 0, or targets of a regression.
            classes: How many classes there are in all; 0 for a regression.
            holdout: The share of the samples that is held out. Which ones is the client's own affair.
            loss: One loss a sample from outputs and targets; cross-entropy, or squared error for regression, if None.
            device: Where modules run: "cpu", or for instance "cuda".
            seed: Of the hold-out and of what the server must not know; a secret if None.
        """
        samples = np.asarray(x, dtype=np.float32)
        targets = np.asarray(y, dtype=np.int64 if classes else np.float32)
        if len(samples) != len(targets) or not len(samples):
            raise ValueError(
                f"holding: {len(samples)} samples and {len(targets)} labels; there must be as many, and one at least"
            )
        if not 0 <= holdout < 1:
            raise ValueError(f"holdout: must be a share in [0, 1), not {holdout!r}")
        if classes and not 0 <= targets.min() <= targets.max() < classes:
            raise ValueError(f"y: labels run from {targets.min()} to {targets.max()}, but there are {classes} classes")
        outputs = 1 if targets.ndim == 1 else targets.shape[1]
        path = path_for(model, samples.shape[1:], classes, targets=outputs, loss=loss, device=device)
        return cls(path, _alone(samples, targets, classes, holdout, 0 if seed is None else seed), seed=seed)

    def count(self, split: Split) -> int:
        """How many samples it has of a split."""
        return int(self.clients.count(split)[self.client])

    def known_as(self, key: str, seed: int) -> Clients:
        """The same data under a key and with the federation's dice."""
        clients = self.clients
        if clients.seed == seed and clients.keys[self.client] == key:
            return clients
        keys = tuple(key if n == self.client else name for n, name in enumerate(clients.keys))
        return replace(clients, keys=keys, seed=seed)

    @cached_property
    def secret(self) -> int:
        """The seed of dice that the server must not know."""
        return SECRET if self.seed is None else self.seed


SECRET = secrets.randbits(63)
"""Of this process: a private answer that is asked for again in it repeats its noise."""


def _alone(x: NDArray[np.float32], y: NDArray[Any], classes: int, holdout: float, seed: int) -> Clients:
    order = seeds.rng(seed, "splits", "shuffle").permutation(len(x))
    kept = max(int(np.floor(len(x) * (1 - holdout) + 1e-9)), 1)
    bounds: Mapping[Split, NDArray[np.int64]] = {
        "train": np.array([0, kept], np.int64),
        "holdout": np.array([kept, len(x)], np.int64),
        "test": np.array([len(x), len(x)], np.int64),
    }
    return Clients(("",), x[order], y[order], bounds, x[:0], y[:0], None, classes, seed)


Hold = Callable[[Any], Holding]
"""From a node's `Context` to what it holds; called for every message, so what is costly is best remembered."""
