"""What a client does with its samples: train on some, hold some out, be judged on others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int64
from numpy.typing import NDArray

from coterie import seeds
from coterie.data.dataset import Dataset
from coterie.data.partition import Indices, Partition

Judged = Literal["shares", "own", "owners", "same", "auto"]


@dataclass(frozen=True, eq=False)
class Groups:
    """For each client a row of sample indices, rows of any length.

    >>> groups = Groups(np.array([4, 2, 7]), np.array([0, 2, 3]))
    >>> groups[0].tolist(), groups.sizes.tolist()
    ([4, 2], [2, 1])
    """

    order: Indices
    offsets: Int64[np.ndarray, " clients+1"]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, client: int) -> Indices:
        return self.order[self.offsets[client] : self.offsets[client + 1]]

    @property
    def sizes(self) -> Int64[np.ndarray, " clients"]:
        """How many samples each client has."""
        return np.diff(self.offsets)


@dataclass(frozen=True, eq=False)
class Splits:
    """Each client's samples for training, for holding out, and for being judged."""

    train: Groups
    holdout: Groups
    test: Groups
    test_of: Literal["train", "test"]
    """Which samples `test` counts: the dataset's `x` or its `x_test`."""


def split_clients(
    dataset: Dataset,
    partition: Partition,
    *,
    holdout: float = 0.2,
    test: Judged = "auto",
    test_size: int = 200,
    test_fraction: float = 0.2,
    seed: int = 0,
) -> Splits:
    """Cuts what each client holds, shuffled, into training, hold-out and, for "own", test samples.

    Training comes first, then hold-out (FedCor: the first 80 % and the last 20 %), then test; a client that holds
    anything trains on one sample at least. `test` says where test samples come from: "shares" draws `test_size` or fewer
    of the global test samples by the client's own label shares, without replacement within a client; "own" cuts
    `test_fraction` of its own; "owners" takes those of its natural owner; "same" judges all that hold anything on the
    same `test_size` global test samples. "auto" is "owners" for a natural
    partition of data that have such, "own" for a regression, else "shares".
    """
    partition.check(dataset)
    for name, value in [("holdout", holdout), ("test_fraction", test_fraction)]:
        if not 0 <= value < 1:
            raise ValueError(f"{name}: must be a share in [0, 1), not {value!r}")
    judged = _judged(dataset, partition, test)
    own = test_fraction if judged == "own" else 0.0
    sizes = partition.sizes
    kept = _first(sizes, 1 - own)
    ends = [_first(kept, 1 - holdout), kept, sizes]
    shuffled = _shuffled(dataset, partition, seed)
    train, held_out, cut_off = (_slices(shuffled, partition, *cut) for cut in zip([0 * sizes, *ends[:2]], ends, strict=True))
    if judged == "own":
        return Splits(train, held_out, cut_off, "train")
    if judged == "owners":
        groups = _of_owners(dataset, partition)
    else:
        groups = (_the_same if judged == "same" else _by_shares)(dataset, partition, test_size, seed)
    return Splits(train, held_out, groups, "test")


def _judged(dataset: Dataset, partition: Partition, test: Judged) -> Judged:
    natural = dataset.owners is not None and dataset.owners_test is not None and partition.scheme == "natural"
    if test == "auto":
        return "owners" if natural else "shares" if dataset.classes else "own"
    if test not in ("shares", "own", "owners", "same"):
        raise ValueError(f"test: must be 'shares', 'own', 'owners', 'same' or 'auto', not {test!r}")
    if test == "owners" and not natural:
        raise ValueError("test: 'owners' needs the natural partition of a dataset whose test samples have owners")
    if test == "shares" and not dataset.classes:
        raise ValueError(f"test: 'shares' needs labels, but '{dataset.name}' is a regression; use 'own'")
    return test


def _first(sizes: Int64[np.ndarray, " clients"], share: float) -> Int64[np.ndarray, " clients"]:
    """How many of so many samples a share is, rounded down, but one at least where there is any."""
    return np.asarray(np.maximum(np.floor(sizes * share + 1e-9), np.minimum(sizes, 1)), dtype=np.int64)


def _shuffled(dataset: Dataset, partition: Partition, seed: int) -> Indices:
    """The partition's order with each client's samples shuffled; a client's shuffle depends on its own samples only."""
    rank = seeds.rng(seed, "splits", "shuffle").random(len(dataset))
    return partition.order[np.lexsort((rank[partition.order], partition.holder))]


def _slices(order: Indices, partition: Partition, start: NDArray[np.int64], stop: NDArray[np.int64]) -> Groups:
    """Of each client's row of `order` the entries from `start` to `stop`."""
    place = np.arange(len(order)) - np.repeat(partition.offsets[:-1], partition.sizes)
    inside = (place >= np.repeat(start, partition.sizes)) & (place < np.repeat(stop, partition.sizes))
    return Groups(order[inside], np.concatenate([[0], np.cumsum(stop - start)]))


def _of_owners(dataset: Dataset, partition: Partition) -> Groups:
    assert dataset.owners is not None and dataset.owners_test is not None
    owner = [int(dataset.owners[partition[k][0]]) if partition.sizes[k] else -1 for k in range(len(partition))]
    return _groups([np.flatnonzero(dataset.owners_test == one) for one in owner])


def _by_shares(dataset: Dataset, partition: Partition, size: int, seed: int) -> Groups:
    pools = [np.flatnonzero(dataset.y_test == c) for c in range(dataset.classes)]
    room = np.array([len(pool) for pool in pools])
    rows = []
    for k, counts in enumerate(partition.counts(dataset.y, dataset.classes)):
        dice = seeds.rng(seed, "splits", "test", k)
        wanted = label_quota(counts, room, size)
        rows.append(np.concatenate([dice.choice(pools[c], wanted[c], replace=False) for c in np.flatnonzero(wanted)] or [[]]))
    return _groups(rows)


def _the_same(dataset: Dataset, partition: Partition, size: int, seed: int) -> Groups:
    dice = seeds.rng(seed, "splits", "test")
    drawn = dice.choice(len(dataset.x_test), min(size, len(dataset.x_test)), replace=False)
    return _groups([drawn if held else drawn[:0] for held in partition.sizes])


def label_quota(counts: Int64[np.ndarray, " classes"], room: Int64[np.ndarray, " classes"], size: int) -> NDArray[np.int64]:
    """How many test samples of each class: in proportion to `counts`, `size` in all, or as many as `room` allows.

    >>> label_quota(np.array([30, 10, 0]), np.array([1000, 1000, 1000]), 200).tolist()
    [150, 50, 0]
    >>> label_quota(np.array([30, 10, 0]), np.array([90, 1000, 1000]), 200).tolist()
    [90, 30, 0]
    """
    held = counts * (room > 0)
    if not held.any():
        return np.zeros_like(counts)
    share: Float[np.ndarray, " classes"] = held / held.sum()
    size = min(size, int(np.floor((room[held > 0] / share[held > 0]).min() + 1e-9)))
    exact = share * size
    whole = np.floor(exact + 1e-9).astype(np.int64)
    order = np.argsort(whole - exact, kind="stable")
    for c in order[: size - int(whole.sum())]:
        whole[c] += whole[c] < room[c]
    return whole


def _groups(rows: list[NDArray[np.int64]]) -> Groups:
    lengths = [len(row) for row in rows]
    order = np.concatenate(rows).astype(np.int64) if sum(lengths) else np.empty(0, dtype=np.int64)
    return Groups(order, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
