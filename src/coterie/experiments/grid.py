"""All cells of a run, methods × seeds, as joblib tasks: on this machine's cores or on any backend that joblib has."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from coterie.experiments import cell, checkpoint, on_flower
from coterie.experiments.cell import Outcome, Settings
from coterie.experiments.experiment import Experiment
from coterie.experiments.locks import held
from coterie.experiments.problems import BadInputError, Problem
from coterie.experiments.store import Cell, Store

LOCAL = ("loky", "multiprocessing", "threading", "sequential")
CLUSTERS = ("ray", "dask")


def play(
    store: Store,
    experiment: Experiment,
    *,
    jobs: int | None = None,
    on: str = "loky",
    every: float = Settings.every,
    workers: int | None = None,
) -> Iterator[Outcome]:
    """Plays what is left of the cells, and yields what became of each as it ends.

    With one job the cells run one after another in this process. While it goes on, Ctrl-C (or a file `stop` in the
    run's folder) ends every cell after the round that it is in; Ctrl-C again ends the program at once. On Flower there is
    one job, whose simulation has `workers`, one a core if None.
    """
    from joblib import Parallel, delayed

    cells = unfinished(store)
    jobs = 1 if experiment.engine == on_flower.ENGINE else jobs or default_jobs(len(cells), on)
    settings = Settings(workers=workers if jobs == 1 else 1, every=every)
    tasks = [delayed(cell.run)(store.folder, experiment, one, settings) for one in cells]
    store.stop.unlink(missing_ok=True)
    with held(store.folder / "lock"), interruptible(store), _backend(on, jobs):
        try:
            yield from Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(tasks)
        finally:
            on_flower.leave()


def unfinished(store: Store) -> list[Cell]:
    """Cells that have not come to their end: the last round, or enough of them."""
    outline = store.outline
    short = [one for one in outline.cells if max(checkpoint.rounds(store.cell(one)), default=0) < outline.rounds]
    return [one for one in short if not store.ended(one).exists()]


def default_jobs(cells: int, on: str = "loky") -> int:
    """As many as there are cores and cells; on a cluster as many as it has places."""
    if on.partition(":")[0] in CLUSTERS:
        return -1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cells, cores))


def check_backend(on: str) -> None:
    """Refuses a backend that joblib does not have."""
    if on.partition(":")[0] not in (*LOCAL, *CLUSTERS):
        allowed = ", ".join((*LOCAL, "ray", "ray://HOST:PORT", "dask", "dask://HOST:PORT"))
        raise BadInputError([Problem("--on", f"there is no backend '{on}'. Allowed: {allowed}")])


def check_jobs(jobs: int | None) -> None:
    """Refuses a number of jobs that is none."""
    if jobs is not None and jobs < 1:
        raise BadInputError([Problem("--jobs", f"must be a whole number from 1, not {jobs}")])


@contextmanager
def _backend(on: str, jobs: int) -> Iterator[None]:
    from joblib import parallel_config

    check_backend(on)
    name, _, address = on.partition("://")
    if name in CLUSTERS:
        _connect(name, address)
    extra: dict[str, Any] = {"initializer": ignore_interrupts} if name == "loky" and jobs != 1 else {}
    with parallel_config(backend=name, n_jobs=jobs, **extra):
        yield


def _connect(name: str, address: str) -> None:
    """Joins a cluster; ray and dask are no dependencies of ours."""
    try:
        if name == "ray":
            import ray
            from ray.util.joblib import register_ray

            ray.init(address=f"ray://{address}" if address else None, ignore_reinit_error=True)
            register_ray()
        else:
            from distributed import Client  # type: ignore[import-not-found]

            Client(f"tcp://{address}" if address else None)
    except ImportError as error:
        raise BadInputError([Problem("--on", f"'{name}' is not installed here ({error})")]) from None


def ignore_interrupts() -> None:
    """In a worker: Ctrl-C is left to the main process, which asks cells to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def interruptible(store: Store) -> Iterator[None]:
    """Turns Ctrl-C and a polite request to end into a request to stop after the current round."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def asked(number: int, frame: object) -> None:
        if store.stop.exists():
            raise KeyboardInterrupt
        store.stop.touch()

    before = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
