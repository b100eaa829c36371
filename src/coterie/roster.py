"""Who is there and what is known of each: one row a client, one column a fact."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ids = NDArray[np.intp]
"""Clients by their row in the roster."""

Column = NDArray[Any]
"""One fact: its first axis runs over the clients."""


@dataclass(frozen=True, eq=False)
class Roster:
    """The clients of a federation as columns.

    Rows are in key order (numbers in keys by value), so sorting ids is sorting keys, on every engine.
    The column `size` (training samples) is always there; others are what the federation knows.

    >>> roster = Roster.of(["b", "a"], size=[30, 10])
    >>> roster.keys, roster["size"].tolist()
    (('a', 'b'), [10, 30])
    >>> roster.share().tolist()
    [0.25, 0.75]
    """

    keys: tuple[str, ...]
    columns: Mapping[str, Column]
    _rows: Mapping[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        rows = {key: row for row, key in enumerate(self.keys)}
        if len(rows) < len(self.keys):
            twice = sorted({key for key in self.keys if self.keys.count(key) > 1})
            raise ValueError(f"roster: keys must be unique, but these stand twice: {', '.join(twice[:5])}")
        if "size" not in self.columns:
            raise ValueError("roster: the column 'size' (training samples per client) is missing")
        columns = {name: _frozen(name, values, len(self.keys)) for name, values in self.columns.items()}
        object.__setattr__(self, "columns", MappingProxyType(columns))
        object.__setattr__(self, "_rows", rows)

    @classmethod
    def of(cls, keys: Iterable[str], **columns: ArrayLike) -> Roster:
        """Makes a roster from keys in any order, sorting the rows."""
        keys = [str(key) for key in keys]
        order = sorted(range(len(keys)), key=lambda row: natural(keys[row]))
        return cls(tuple(keys[row] for row in order), {name: np.asarray(values)[order] for name, values in columns.items()})

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, name: str) -> Column:
        try:
            return self.columns[name]
        except KeyError:
            known = ", ".join(sorted(self.columns))
            raise KeyError(f"roster: nothing is known as '{name}'; known: {known}") from None

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    @property
    def ids(self) -> Ids:
        """All clients."""
        return np.arange(len(self), dtype=np.intp)

    def id_of(self, key: str) -> int:
        """The row of a key."""
        return self._rows[key]

    def share(self, ids: Ids | None = None) -> NDArray[np.float64]:
        """Shares of the samples that all clients, or these, hold; uniform where nobody holds any."""
        size = self["size"].astype(np.float64) if ids is None else self["size"][ids].astype(np.float64)
        total = size.sum()
        return size / total if total > 0 else np.full(len(size), 1 / max(len(size), 1))

    def with_columns(self, **columns: ArrayLike) -> Roster:
        """The same clients with facts added or replaced."""
        return Roster(self.keys, {**self.columns, **{name: np.asarray(values) for name, values in columns.items()}})


def natural(key: str) -> tuple[tuple[int, int | str], ...]:
    """Sorts 'client-10' behind 'client-9'."""
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"(\d+)", key) if part)


def _frozen(name: str, values: Column, rows: int) -> Column:
    column = np.array(values)
    if column.shape[:1] != (rows,):
        raise ValueError(f"roster: column '{name}' has {column.shape[:1] or 'no'} rows where there are {rows} clients")
    column.flags.writeable = False
    return column
