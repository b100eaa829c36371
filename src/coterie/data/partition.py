"""Who holds which samples: the result of a scheme, and a file that is the same federation anywhere."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int64
from numpy.typing import ArrayLike, NDArray

from coterie.data.dataset import Dataset

Indices = Int64[np.ndarray, " samples"]


@dataclass(frozen=True, eq=False)
class Partition:
    """For each client the training samples that it holds; no sample is held twice.

    >>> partition = Partition.of([1, 0, 1, -1], clients=2, scheme="by hand")
    >>> len(partition), partition[1].tolist(), partition.sizes.tolist()
    (2, [0, 2], [1, 2])
    """

    order: Indices
    """The assigned samples, grouped by client."""
    offsets: Int64[np.ndarray, " clients+1"]
    """Client k holds `order[offsets[k]:offsets[k + 1]]`."""
    scheme: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    fingerprint: str = ""
    """Of the dataset that was parted."""

    def __post_init__(self) -> None:
        rising = len(self.offsets) > 1 and self.offsets[0] == 0 and (np.diff(self.offsets) >= 0).all()
        if not rising or self.offsets[-1] != len(self.order):
            raise ValueError("partition: the offsets must start at 0, never fall, and end at the number of samples")
        if len(self.order) and (self.order.min() < 0 or np.bincount(self.order).max() > 1):
            raise ValueError("partition: every sample may be held once, and samples are counted from 0")

    @classmethod
    def of(
        cls,
        holder: ArrayLike,
        clients: int,
        scheme: str,
        settings: Mapping[str, Any] | None = None,
        seed: int = 0,
        fingerprint: str = "",
    ) -> Partition:
        """Makes a partition from the client that holds each sample (−1: nobody)."""
        holder = _integers(np.asarray(holder)) if np.size(holder) else np.empty(0, dtype=np.int64)
        if len(holder) and (holder.min() < -1 or holder.max() >= clients):
            raise ValueError(f"partition: holders must be −1 … {clients - 1}, found {holder.min()} … {holder.max()}")
        order = np.argsort(holder, kind="stable").astype(np.int64)
        counts = np.bincount(holder + 1, minlength=clients + 1)
        return cls(order[counts[0] :], np.cumsum([0, *counts[1:]]), scheme, dict(settings or {}), seed, fingerprint)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, client: int) -> Indices:
        if not 0 <= client < len(self):
            raise IndexError(f"client {client} is not among 0 … {len(self) - 1}")
        return self.order[self.offsets[client] : self.offsets[client + 1]]

    def __repr__(self) -> str:
        return f"Partition({self.scheme!r}, {len(self)} clients, {len(self.order)} samples, seed {self.seed})"

    @property
    def sizes(self) -> Int64[np.ndarray, " clients"]:
        """How many samples each client holds."""
        return np.diff(self.offsets)

    @property
    def holder(self) -> NDArray[np.intp]:
        """The client of each entry of `order`."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def counts(self, y: NDArray[np.int64], classes: int) -> Int64[np.ndarray, "clients classes"]:
        """How many samples of each class each client holds."""
        cells = self.holder * classes + y[self.order]
        return np.bincount(cells, minlength=len(self) * classes).reshape(len(self), classes)

    def check(self, dataset: Dataset) -> None:
        """Refuses a dataset other than the one that was parted."""
        if self.fingerprint and self.fingerprint != dataset.fingerprint:
            raise ValueError(
                f"this partition was made of other data (fingerprint {self.fingerprint[:12]}…) than"
                f" '{dataset.name}' (fingerprint {dataset.fingerprint[:12]}…)"
            )
        if len(self.order) and self.order.max() >= len(dataset):
            raise ValueError(f"this partition names sample {self.order.max()}, but '{dataset.name}' has {len(dataset)}")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the partition to an `.npz` file, whole or not at all."""
        about = {"scheme": self.scheme, "settings": dict(self.settings), "seed": self.seed, "fingerprint": self.fingerprint}
        target = Path(path)
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            with part.open("wb") as file:
                np.savez_compressed(file, order=self.order, offsets=self.offsets, about=np.array(json.dumps(about)))
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Partition:
        """Reads what `save` wrote."""
        try:
            with np.load(path, allow_pickle=False) as file:
                about = json.loads(str(file["about"]))
                if not isinstance(about["scheme"], str) or not isinstance(about["fingerprint"], str):
                    raise ValueError("the scheme and the fingerprint must be texts")
                order, offsets = (_integers(file[name]) for name in ("order", "offsets"))
                return cls(order, offsets, about["scheme"], dict(about["settings"]), int(about["seed"]), about["fingerprint"])
        except FileNotFoundError:
            raise
        except Exception as error:  # a broken file may fail anywhere in NumPy, zipfile or zlib
            raise ValueError(f"{path}: this is no partition file ({error})") from None


def _integers(array: NDArray[Any]) -> NDArray[np.int64]:
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"expected a row of whole numbers, found {array.dtype} {array.shape}")
    return array.astype(np.int64)
