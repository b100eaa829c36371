"""The folder of a run: what was asked for, what happened, and what it takes to go on.

experiment.toml     the resolved experiment, which reproduces the run
environment.json    versions of what computed it
partitions/         who holds which data, a file a seed
cells/              checkpoints of each method and seed and, while it runs, the parts of its tables
rounds.parquet      a row a method, seed and round
decisions.parquet   a row for each candidate of each round
timings.parquet     real seconds, the one thing that two runs of an experiment do not share
listening.parquet   who listened to whom, and how much, where there is no server
report.html
"""

from __future__ import annotations

import json
import platform
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from coterie.experiments import journal, rows, whole

LIBRARIES = ("coterie", "numpy", "scipy", "torch", "scikit-learn", "pyarrow", "joblib")


@dataclass(frozen=True, order=True)
class Cell:
    """One method with one seed."""

    method: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.method}-seed-{self.seed}"


@dataclass(frozen=True)
class Outline:
    """What one must know of an experiment to read its results; nothing has to be imported for it."""

    labels: tuple[str, ...]
    """The methods by the names under which they take part."""
    seeds: tuple[int, ...]
    rounds: int
    clients: int
    baseline: str
    target: float | None
    enough_rounds: int | None = None
    byte_budget: float | None = None

    @property
    def cells(self) -> tuple[Cell, ...]:
        """What is to be run: each method with each seed."""
        return tuple(Cell(label, seed) for label in self.labels for seed in self.seeds)

    def reached(self, accuracy: ArrayLike) -> bool:
        """Whether any of these accuracies is the target or more."""
        return self.target is not None and bool((np.asarray(accuracy, dtype=np.float64) >= self.target).any())

    def over(self, done: int, reached: bool) -> bool:
        """Whether a cell is at its end after so many rounds: all of them, or enough with the target reached."""
        return done >= self.rounds or (self.enough_rounds is not None and reached and done >= self.enough_rounds)


@dataclass(frozen=True)
class Store:
    """A run's folder."""

    folder: Path

    @classmethod
    def open(cls, folder: str | Path) -> Store:
        """An existing run."""
        store = cls(Path(folder))
        if not store.experiment.is_file():
            raise ValueError(f"{folder}: no run is here; a run's folder holds experiment.toml{_others(Path(folder))}")
        return store

    @classmethod
    def create(cls, folder: Path, experiment: str, environment: Mapping[str, Any], partitions: Mapping[int, Any]) -> Store:
        """Makes the folder of a new run; it appears under its name only when it holds all that a run starts from."""
        if folder.exists():
            raise ValueError(f"{folder}: is there already; 'coterie resume {folder}' goes on with a run, --out names another")
        draft = folder.with_name(f".{folder.name}.new")
        shutil.rmtree(draft, ignore_errors=True)
        (draft / "partitions").mkdir(parents=True)
        (draft / "cells").mkdir()
        for seed, partition in partitions.items():
            partition.save(draft / "partitions" / f"seed-{seed}.npz")
        whole.write_text(draft / "environment.json", json.dumps(environment, indent=2) + "\n")
        whole.write_text(draft / "experiment.toml", experiment)
        draft.rename(folder)
        return cls(folder)

    @property
    def experiment(self) -> Path:
        return self.folder / "experiment.toml"

    @cached_property
    def outline(self) -> Outline:
        """What was asked for, in short."""
        file = tomllib.loads(self.experiment.read_text(encoding="utf-8"))
        return Outline(
            tuple(file["methods"]),
            tuple(file["seeds"]),
            *(file["rounds"], file["clients"], file["baseline"]),
            *(file.get("target"), file.get("enough_rounds"), file.get("byte_budget")),
        )

    @property
    def methods(self) -> dict[str, str]:
        """The methods that take part, by label."""
        file = tomllib.loads(self.experiment.read_text(encoding="utf-8"))
        return {label: str(file["set"][label]["method"]) for label in file["methods"]}

    @property
    def complete(self) -> bool:
        """Whether all cells ran to their end and the tables are merged."""
        return self.table("rounds").is_file()

    @property
    def stop(self) -> Path:
        """Where this file lies, cells end after the round that they are in."""
        return self.folder / "stop"

    def table(self, name: str) -> Path:
        """The file of a finished table."""
        return self.folder / f"{name}.parquet"

    def partition(self, seed: int) -> Path:
        """The file that says who holds which data."""
        return self.folder / "partitions" / f"seed-{seed}.npz"

    def cell(self, cell: Cell) -> Path:
        """The folder of a method with a seed."""
        return self.folder / "cells" / cell.name

    def ended(self, cell: Cell) -> Path:
        """Where this file lies, the cell ended before the last round, having reached the target."""
        return self.cell(cell) / "ended"

    def read(self, name: str) -> pa.Table:
        """A table: the finished one, or what the cells have made durable so far."""
        if self.table(name).is_file():
            return pq.read_table(self.table(name))
        found = [journal.read(self.cell(cell), name) for cell in self.outline.cells]
        return _joined(name, [part for part in found if part is not None])

    def sizes(self) -> dict[int, NDArray[np.int64]]:
        """For each seed how many samples each client holds."""
        from coterie.data import Partition

        return {seed: Partition.load(self.partition(seed)).sizes for seed in self.outline.seeds}

    def merge(self) -> None:
        """Makes finished tables of the parts, `rounds` last, because it is the sign that all is done."""
        cells = self.outline.cells
        if not self.complete:
            for name in (*rows.SOME, *reversed(rows.TABLES)):
                if name in rows.TABLES or any(journal.read(self.cell(cell), name) is not None for cell in cells):
                    self._merge(name, cells)
        for cell in cells:
            journal.clear(self.cell(cell))

    def _merge(self, name: str, cells: Sequence[Cell]) -> None:
        """A row group a cell, however its parts were cut, so that the bytes depend on the records alone."""
        empty = _joined(name, [_without_rows(name, journal.read(self.cell(cell), name)) for cell in cells])

        def fill(file: Any) -> None:
            with pq.ParquetWriter(file, empty.schema, compression="zstd") as writer:
                for cell in cells:
                    part = journal.read(self.cell(cell), name)
                    if part is not None:
                        writer.write_table(_joined(name, [empty, part]), row_group_size=max(len(part), 1))

        whole.write(self.table(name), fill)


def results(run: str | Path) -> pd.DataFrame:
    """The rounds of a run as a table: a row a method, seed and round, with the real `seconds` beside.

    Works while a run is going on, or after it was interrupted, with the rounds that are safe on disk.
    """
    store = Store.open(run)
    rounds: pd.DataFrame = store.read("rounds").to_pandas()
    return rounds.merge(store.read("timings").to_pandas(), on=list(rows.ADDRESS))


def decisions(run: str | Path) -> pd.DataFrame:
    """The decision log of a run: a row for each candidate of each round."""
    table: pd.DataFrame = Store.open(run).read("decisions").to_pandas()
    return table


def listening(run: str | Path) -> pd.DataFrame:
    """Who listened to whom, where there is no server: a row for each pair in the evaluated rounds, with its weight."""
    table: pd.DataFrame = Store.open(run).read("listening").to_pandas()
    return table


def environment(**facts: Any) -> dict[str, Any]:
    """What computed a run: versions and the type of machine, nothing about whose it is."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
        "libraries": {name: found for name in LIBRARIES if (found := _version(name))},
        **facts,
    }


def _joined(name: str, parts: Sequence[pa.Table]) -> pa.Table:
    """Tables one after another with columns in their order; a kind of bytes that one lacks is 0 there."""
    joined = pa.concat_tables(parts or [rows.table(name, "", 0, [], [])], promote_options="default")
    joined = joined.select(rows.ordered(name, joined.column_names))
    for place, column in enumerate(joined.schema):
        if column.name.startswith(("up_", "down_", "between_")):
            joined = joined.set_column(place, column, joined[column.name].fill_null(0))
    return joined.combine_chunks()


def _without_rows(name: str, part: pa.Table | None) -> pa.Table:
    return rows.table(name, "", 0, [], []) if part is None else part.slice(0, 0)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _others(folder: Path) -> str:
    runs = sorted(path.parent.name for path in folder.parent.glob("*/experiment.toml"))
    return f"; runs in {folder.parent}: {', '.join(runs[:8])}" if runs else ""
