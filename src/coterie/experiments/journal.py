"""The records of one cell (a method with a seed) while it runs: parts on disk, cut where checkpoints are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from coterie.experiments import rows, whole
from coterie.record import Record

_NAME = re.compile(r"(rounds|decisions|timings|listening)-(\d+)-(\d+)\.parquet")

EVERY = (*rows.SOME, *rows.TABLES)


@dataclass
class Journal:
    """Collects records in memory and writes them as a part: a file a table."""

    folder: Path
    method: str
    seed: int
    keys: NDArray[np.str_]
    _rounds: list[int] = field(default_factory=list)
    _rows: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {name: [] for name in EVERY})

    def add(self, record: Record) -> None:
        """Writes a round down, in memory for now."""
        self._rounds.append(record.round)
        self._rows["rounds"].append(rows.round_row(record, self.keys))
        self._rows["decisions"].append(rows.decision_rows(record, self.keys))
        self._rows["timings"].append({"seconds": record.seconds})
        self._rows["listening"].append(rows.listening_rows(record))

    def flush(self) -> None:
        """Makes what was added durable; first what need not be there, so that the others are the sign that all is."""
        if not self._rounds:
            return
        for name, found in self._rows.items():
            table = rows.table(name, self.method, self.seed, self._rounds, found)
            found.clear()
            if name in rows.SOME and not len(table):
                continue
            path = self.folder / f"{name}-{self._rounds[0]:06d}-{self._rounds[-1]:06d}.parquet"
            whole.write(path, lambda file, table=table: pq.write_table(table, file))  # type: ignore[misc]
        self._rounds.clear()


def covered(folder: Path) -> int:
    """How many rounds from the first on stand in readable parts of all tables."""
    return min(_covered(folder, name) for name in rows.TABLES)


def cut(folder: Path, last: int) -> None:
    """Forgets every part that goes beyond a round."""
    for path, _, end in _parts(folder):
        if end > last:
            path.unlink()


def read(folder: Path, name: str) -> pa.Table | None:
    """One table of a cell, as far as it was made durable."""
    found = [pq.read_table(path) for path, _, _ in _parts(folder, name)]
    return pa.concat_tables(found, promote_options="default").combine_chunks() if found else None


def clear(folder: Path) -> None:
    """Drops the parts, once they are merged."""
    cut(folder, 0)


def _covered(folder: Path, name: str) -> int:
    last = 0
    for path, first, end in _parts(folder, name):
        if first != last + 1 or not _readable(path):
            break
        last = end
    return last


def _readable(path: Path) -> bool:
    try:
        pq.read_metadata(path)
    except (OSError, pa.ArrowInvalid):
        return False
    return True


def _parts(folder: Path, name: str | None = None) -> Iterator[tuple[Path, int, int]]:
    """Parts with their first and last round, in order."""
    paths = folder.iterdir() if folder.is_dir() else ()
    found = [(path, match) for path in paths if (match := _NAME.fullmatch(path.name)) and name in (None, match[1])]
    for path, match in sorted(found, key=lambda pair: int(pair[1][2])):
        yield path, int(match[2]), int(match[3])
