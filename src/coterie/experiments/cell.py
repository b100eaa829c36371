"""Plays one method with one seed, from wherever its last checkpoint stands."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from coterie.experiments import checkpoint, federations, journal, on_flower, whole
from coterie.experiments.experiment import Experiment
from coterie.experiments.locks import held
from coterie.experiments.store import Cell, Store
from coterie.recipe import play

_parents: dict[int, int] = {}
"""Whose child each process was when its first cell began: a worker whose parent was killed must not go on."""
PATIENCE = 60.0
"""Seconds that a cell waits for the end of an earlier process's round."""


@dataclass(frozen=True)
class Outcome:
    """What became of a cell."""

    cell: Cell
    state: Literal["done", "stopped", "failed"]
    reason: str = ""


@dataclass(frozen=True)
class Settings:
    """How a cell is played; nothing of it shows in the results."""

    workers: int | None = 1
    every: float = 2.0
    """Seconds between checkpoints, at least, and so many that they take 5 % of the time at most; 0 for every round."""


def run(folder: Path, experiment: Experiment, cell: Cell, settings: Settings) -> Outcome:
    """Plays a cell to its end, or to the end of the round in which it is asked to stop. Never raises."""
    store, parent = Store(folder), _parents.setdefault(os.getpid(), os.getppid())
    _ignore_interrupts()
    place = store.cell(cell)
    place.mkdir(parents=True, exist_ok=True)
    try:
        with held(place / "lock", PATIENCE):
            ended = _play(store, experiment, cell, settings, lambda: store.stop.exists() or os.getppid() != parent)
        return Outcome(cell, "done" if ended else "stopped")
    except Exception as error:
        (place / "error.txt").write_text(traceback.format_exc())
        return Outcome(cell, "failed", f"{type(error).__name__}: {error}")


def _play(store: Store, experiment: Experiment, cell: Cell, settings: Settings, stop: Callable[[], bool]) -> bool:
    """Whether the end was reached: the last round, or the target after enough of them."""
    place, outline = store.cell(cell), store.outline
    done, saved = _last(place)
    journal.cut(place, done)
    reached = outline.reached(_accuracies(place))
    if outline.over(done, reached):
        return _ended(store, cell, done)
    if stop():
        return False
    federation = _federation(store, experiment, cell, settings)
    try:
        if saved is not None:
            federation.restore(saved["federation"])
        pages = journal.Journal(place, cell.method, cell.seed, np.array(federation.roster.keys))
        rhythm = Rhythm(settings.every)
        method = experiment.recipe(cell.method)
        for record in play(method, federation, experiment.rounds, None if saved is None else saved["recipe"]):
            pages.add(record)
            _tell(place, record.round, record.accuracy)
            done = record.round
            reached = reached or outline.reached(record.accuracy)
            over, stopping = outline.over(done, reached), stop()
            if stopping or over or rhythm.due():
                pages.flush()
                checkpoint.save(place, done, {"federation": federation.state(), "recipe": record.state})
                rhythm.rest()
            if stopping or over:
                break
    finally:
        federation.close()
    return outline.over(done, reached) and _ended(store, cell, done)


def _accuracies(place: Path) -> NDArray[np.float64]:
    """The accuracy after each round that is safe on disk, NaN where none was measured."""
    rounds = journal.read(place, "rounds")
    return np.empty(0) if rounds is None else rounds["accuracy"].to_pandas().to_numpy(dtype=np.float64)


def _ended(store: Store, cell: Cell, done: int) -> bool:
    """Leaves a note where a cell ends before the last round."""
    if done < store.outline.rounds:
        whole.write_text(store.ended(cell), f"{done}\n")
    return True


def progress(store: Store, cell: Cell) -> tuple[int, float]:
    """The last round of a cell and its accuracy; (0, NaN) before the first."""
    try:
        done, accuracy = (store.cell(cell) / "progress").read_text().split()
        return int(done), float(accuracy)
    except (OSError, ValueError):
        return 0, float("nan")


class Rhythm:
    """Says when a checkpoint is due: not too often, and rarely where writing one takes long."""

    def __init__(self, every: float) -> None:
        self.every = every
        self.started = time.monotonic()
        self.pause = every

    def due(self) -> bool:
        """Whether it is time; from here to `rest` counts as writing."""
        now = time.monotonic()
        if now - self.started < self.pause:
            return False
        self.started = now
        return True

    def rest(self) -> None:
        """A checkpoint was written."""
        now = time.monotonic()
        self.pause = max(self.every, 20 * (now - self.started)) if self.every else 0.0
        self.started = now


def _last(place: Path) -> tuple[int, Any]:
    """The newest checkpoint whose rounds all stand in the parts too."""
    covered = journal.covered(place)
    done, state = checkpoint.load(place, covered)
    checkpoint.cut(place, done)
    return done, state


def _federation(store: Store, experiment: Experiment, cell: Cell, settings: Settings) -> Any:
    if experiment.engine == on_flower.ENGINE:
        return on_flower.build(experiment, store.partition(cell.seed), cell.seed, settings.workers)
    dataset = federations.load(experiment, cell.seed)
    partition = federations.partition_of(store.partition(cell.seed), dataset)
    return federations.build(experiment, dataset, partition, cell.seed, settings.workers)


def _tell(place: Path, round: int, accuracy: float) -> None:
    """Lets whoever watches know; a hint, not a record."""
    (place / "progress").write_text(f"{round} {accuracy}")


def _ignore_interrupts() -> None:
    """In a worker, Ctrl-C is left to the main process, which asks cells to stop."""
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
