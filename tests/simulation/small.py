"""Small federations for tests: blobs of three classes, few clients, models of a few dozen numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

import coterie
from coterie.data import Dataset, Partition
from coterie.federation import View
from coterie.plan import Hears
from coterie.recipe import Recipe, play
from coterie.record import Record
from coterie.rules import Listener, Selector
from coterie.simulation import Simulation


def blobs(samples: int = 240, classes: int = 3, features: int = 4, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(classes, features)) * 2
    y = np.arange(samples + 90) % classes
    x = (centers[y] + rng.normal(size=(len(y), features))).astype(np.float32)
    return Dataset.of("blobs", x[:samples], y[:samples], x[samples:], y[samples:])


def line(samples: int = 120, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(samples + 40, 2))
    y = (x @ [1.0, -2.0]).astype(np.float32)
    return Dataset.of("line", x[:samples], y[:samples], x[samples:], y[samples:])


def parted(dataset: Dataset, sizes: Sequence[int]) -> Partition:
    """Hands out samples in order, so many to each client."""
    holder = np.full(len(dataset), -1)
    holder[: sum(sizes)] = np.repeat(np.arange(len(sizes)), sizes)
    return Partition.of(holder, len(sizes), "by hand", fingerprint=dataset.fingerprint)


def small(sizes: Sequence[int] = (30, 20, 40, 10, 30, 25), dataset: Dataset | None = None, **settings: Any) -> Simulation:
    dataset = blobs() if dataset is None else dataset
    settings = {"model": "mlp:5", "seed": 1, "workers": 1, **settings}
    return coterie.simulate(dataset, partition=parted(dataset, sizes), **settings)


@dataclass(frozen=True)
class These(Selector):
    """Chooses the same clients every round, as far as they are there."""

    clients: tuple[int, ...]
    stubborn: bool = False
    """Whether also those who are not."""

    def choose(self, view: View, state: Any) -> np.ndarray:
        ids = np.array(self.clients, dtype=np.intp)
        return ids if self.stubborn else np.intersect1d(ids, view.present)


@dataclass(frozen=True)
class Hearing(Listener):
    """Listens as a matrix says."""

    matrix: tuple[tuple[int, ...], ...]

    def listen(self, view: View, state: Any) -> Hears:
        return sparse.csr_array(np.array(self.matrix, dtype=bool))


def played(recipe: Recipe, federation: Simulation, rounds: int, state: Any = None) -> list[Record]:
    return list(play(recipe, federation, rounds, state))


def leaves(tree: Any) -> Iterator[Any]:
    """All arrays and values of a tree, in order."""
    if isinstance(tree, dict):
        for key in sorted(tree):
            yield key
            yield from leaves(tree[key])
    else:
        yield tree


def same(one: Any, other: Any) -> bool:
    """Whether two trees are equal to the last bit."""
    pairs = list(zip(leaves(one), leaves(other), strict=True))
    return all(
        np.asarray(a).dtype == np.asarray(b).dtype and np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs
    )
