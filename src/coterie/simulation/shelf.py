"""Shared memory that one process lays values on and another takes them from."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from mmap import mmap
from typing import Any

import numpy as np

LINE = 64
"""Arrays begin at multiples of this many bytes, a line of cache."""


@dataclass(frozen=True)
class Parcel:
    """How to get a value back: its pickle, and between which bytes of the shelf its arrays lie."""

    stream: bytes
    spans: tuple[tuple[int, int], ...]


class Shelf:
    """A file in memory that grows as needed, one process its writer, another forked from the same parent its reader.

    >>> shelf = Shelf()
    >>> parcels = shelf.lay([("a", np.arange(3)), ("b", np.zeros(2))])
    >>> shelf.take(parcels[0], copy=True)
    ('a', array([0, 1, 2]))
    >>> shelf.close()
    """

    def __init__(self) -> None:
        self.file = os.memfd_create("coterie")
        self.map: mmap | None = None
        self.used = 0

    def clear(self) -> None:
        """Frees all room: what was taken without a copy will change."""
        self.used = 0

    def lay(self, values: Iterable[object], room: float = float("inf")) -> list[Parcel]:
        """Lays values down, in order, until so many bytes are used. An array that several of them hold is laid once."""
        parcels: list[Parcel] = []
        laid: dict[tuple[int, int], tuple[int, int]] = {}
        kept: list[memoryview] = []  # so that no other array comes to lie at the same address meanwhile
        for value in values:
            buffers: list[pickle.PickleBuffer] = []
            stream = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
            spans = []
            for raw in (buffer.raw() for buffer in buffers):
                key = _address(raw), raw.nbytes
                if key not in laid:
                    laid[key] = self._put(raw)
                    kept.append(raw)
                spans.append(laid[key])
            parcels.append(Parcel(stream, tuple(spans)))
            if self.used > room:
                break
        return parcels

    def take(self, parcel: Parcel, *, copy: bool) -> Any:
        """Takes a value, its arrays as copies of one's own or as views that cannot be written to."""
        parts = (self._upto(stop)[start:stop] for start, stop in parcel.spans)
        return pickle.loads(parcel.stream, buffers=[bytearray(part) if copy else part.toreadonly() for part in parts])

    def close(self) -> None:
        """Gives the memory back, once nobody looks at it any more."""
        os.close(self.file)
        self.map = None

    def _put(self, raw: memoryview) -> tuple[int, int]:
        if not raw.nbytes:
            return 0, 0
        start = -(-self.used // LINE) * LINE
        self.used = start + raw.nbytes
        if self.used > os.fstat(self.file).st_size:
            os.ftruncate(self.file, 2 * self.used)
        self._upto(self.used)[start : self.used] = raw
        return start, self.used

    def _upto(self, stop: int) -> memoryview:
        if self.map is None or len(self.map) < stop:
            if not stop:
                return memoryview(b"")
            self.map = mmap(self.file, os.fstat(self.file).st_size)
        return memoryview(self.map)


def _address(raw: memoryview) -> int:
    return int(np.frombuffer(raw, np.uint8).ctypes.data) if raw.nbytes else 0
