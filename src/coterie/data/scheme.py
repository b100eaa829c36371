"""What a partitioning scheme is, and what all of them check."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from jaxtyping import Int64
from numpy.typing import NDArray

from coterie import seeds
from coterie.data.dataset import Dataset, fingerprint
from coterie.data.partition import Partition

Holder = NDArray[np.intp]
"""For each training sample the client that holds it; −1 where nobody does."""


@dataclass(frozen=True)
class Scheme(ABC):
    """A way to part the training samples of a dataset among clients.

    A scheme writes `holders`; what every scheme must check, and the file format, are here.
    """

    def split(self, dataset: Dataset, clients: int, seed: int = 0) -> Partition:
        """Parts the training samples among so many clients; the same seed gives the same partition."""
        if clients < 1:
            raise ValueError(f"clients: must be a whole number from 1, not {clients}")
        if clients > len(dataset):
            raise ValueError(f"{clients} clients cannot share the {len(dataset)} training samples of '{dataset.name}'")
        holder = self.holders(dataset, clients, seeds.rng(seed, "partition", self.name))
        return Partition.of(holder, clients, self.name, self.settings, seed, dataset.fingerprint)

    @abstractmethod
    def holders(self, dataset: Dataset, clients: int, dice: np.random.Generator) -> Holder:
        """Returns for each training sample the client that holds it."""

    @property
    def name(self) -> str:
        """The scheme's name on the command line."""
        return name_of(type(self))

    @property
    def settings(self) -> dict[str, Any]:
        """The scheme's fields as plain values, for the partition file."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}


def name_of(scheme: type[Scheme]) -> str:
    """The name on the command line, which is the file's: `TwoLevel` in two_level.py is 'two-level'."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", scheme.__name__).lower()


def labels_of(dataset: Dataset, scheme: str) -> Int64[np.ndarray, " samples"]:
    """The labels that a scheme parts by, all classes present."""
    if not dataset.classes:
        raise ValueError(f"{scheme}: needs labels, but '{dataset.name}' is a regression; use iid, quantity or natural")
    absent = np.flatnonzero(np.bincount(dataset.y, minlength=dataset.classes) == 0)
    if len(absent):
        names = ", ".join(map(str, absent[:8])) + (", …" if len(absent) > 8 else "")
        raise ValueError(f"{scheme}: no training sample of '{dataset.name}' has label {names}; number the labels without gaps")
    return dataset.y


def positive(**values: Any) -> None:
    """Refuses settings that are not all finite numbers above 0."""
    for name, value in values.items():
        numbers = np.asarray(value, dtype=float)
        if not (numbers.size and np.isfinite(numbers).all() and (numbers > 0).all()):
            raise ValueError(f"{name}: must be above 0 and finite, not {plain(value)!r}")


def at_least(low: int, **values: int) -> None:
    """Refuses settings that are not whole numbers from `low`."""
    for name, value in values.items():
        if isinstance(value, bool) or int(value) != value or value < low:
            raise ValueError(f"{name}: must be a whole number from {low}, not {value!r}")


def plain(value: Any) -> Any:
    """A setting as something that JSON can hold; large arrays by their hash, functions by their name.

    >>> plain((1, np.float64(0.5))), plain(len), plain(np.zeros((100, 50)))[:22]
    ([1, 0.5], 'builtins.len', 'array (100, 50), sha25')
    """
    if isinstance(value, np.ndarray) and value.size > 1000:
        return f"array {value.shape}, sha256 {fingerprint(value)}"
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return repr(value)
