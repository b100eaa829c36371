"""Each client's data, as slices of one array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

from coterie import seeds
from coterie.data.dataset import Dataset
from coterie.data.splits import Groups, Splits
from coterie.federation import Split

COMMON = 200
"""Test samples on which personal models are judged besides their clients' own."""
Samples = tuple[Float32[np.ndarray, "samples ..."], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Clients:
    """The samples of all clients: first what they train on, client after client, then what they hold out, then their tests."""

    keys: tuple[str, ...]
    x: Float32[np.ndarray, "assigned ..."]
    y: NDArray[Any]
    bounds: Mapping[Split, NDArray[np.int64]]
    """For each split the clients + 1 places of `x` between which they hold it; 'test' only where it is cut from their own."""
    x_test: Float32[np.ndarray, "tests ..."]
    """The global test set."""
    y_test: NDArray[Any]
    drawn: Groups | None
    """For each client its test samples in the global test set; None where they are cut from its own."""
    classes: int
    """0 for a regression."""
    seed: int

    @classmethod
    def of(cls, dataset: Dataset, splits: Splits, seed: int) -> Clients:
        """Lays each client's samples side by side."""
        own = splits.test_of == "train"
        groups: dict[Split, Groups] = {"train": splits.train, "holdout": splits.holdout}
        if own:
            groups["test"] = splits.test
        rows = np.concatenate([group.order for group in groups.values()])
        starts = np.cumsum([0, *(len(group.order) for group in groups.values())])
        return cls(
            keys=tuple(map(str, range(len(splits.train)))),
            x=dataset.x[rows],
            y=dataset.y[rows],
            bounds={split: group.offsets + start for (split, group), start in zip(groups.items(), starts, strict=False)},
            x_test=dataset.x_test,
            y_test=dataset.y_test,
            drawn=None if own else splits.test,
            classes=dataset.classes,
            seed=seed,
        )

    def __len__(self) -> int:
        return len(self.keys)

    def samples(self, client: int, split: Split) -> Samples:
        """What a client holds of a split; views where that can be."""
        if split == "test" and self.drawn is not None:
            return self.x_test[self.drawn[client]], self.y_test[self.drawn[client]]
        start, stop = self.bounds[split][client : client + 2]
        return self.x[start:stop], self.y[start:stop]

    def asked(self, client: int, split: Split) -> Samples:
        """What a client answers on: the split, or its training samples where it holds nothing of it."""
        x, y = self.samples(client, split)
        return (x, y) if len(x) else self.samples(client, "train")

    def count(self, split: Split) -> NDArray[np.int64]:
        """How many samples of a split each client holds."""
        if split == "test" and self.drawn is not None:
            return self.drawn.sizes
        return np.diff(self.bounds[split])

    def asked_count(self, split: Split) -> NDArray[np.int64]:
        """On how many samples each client answers."""
        count = self.count(split)
        return np.where(count > 0, count, self.count("train"))

    @cached_property
    def common(self) -> NDArray[np.int64]:
        """Up to `COMMON` samples of the global test set, drawn once: on these any model of any client can be judged."""
        drawn = seeds.rng(self.seed, "tests in common").permutation(len(self.x_test))
        return np.sort(drawn[:COMMON])

    @cached_property
    def label_counts(self) -> NDArray[np.int64]:
        """How many training samples of each class each client holds."""
        sizes = self.count("train")
        cells = np.repeat(np.arange(len(self)), sizes) * self.classes + self.y[: sizes.sum()].astype(np.int64)
        return np.bincount(cells, minlength=len(self) * self.classes).reshape(len(self), self.classes)
