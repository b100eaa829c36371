"""A federation so small that a run takes a moment, and runs of it that are killed."""

import itertools
import os
import signal
import time
from pathlib import Path

import numpy as np

from coterie.experiments import cell, config, run, whole
from coterie.experiments.store import Store

METHODS = ("power-of-choice", "oort")


def dataset(folder: Path) -> Path:
    """Three blobs in four dimensions."""
    dice = np.random.default_rng(1)
    y, y_test = np.arange(90) % 3, np.arange(30) % 3
    centers = dice.normal(size=(3, 4)) * 2
    x, x_test = (centers[labels] + dice.normal(size=(len(labels), 4)) for labels in (y, y_test))
    path = folder / "blobs.npz"
    np.savez(path, x=x, y=y, x_test=x_test, y_test=y_test)
    return path


def text(data: Path, methods=METHODS, rounds=5, seeds=(1,)) -> str:
    listed = ", ".join(f'"{name}"' for name in methods)
    return f"""
dataset = "{data}"
model = "linear"
clients = 8
per_round = 2
rounds = {rounds}
seeds = {list(seeds)}
methods = [{listed}]
target = 0.5
[partition]
scheme = "shards"
[training]
epochs = 1
batch_size = 5
lr = 0.1
[world]
availability = 0.8
fail_during = 0.1
"""


def experiment(data: Path, **settings):
    return config.parse(text(data, **settings))[0]


def begin(data: Path, folder: Path, **settings) -> Store:
    return run.start(experiment(data, **settings), folder)


def play(store: Store, every: float = 2.0, workers: int = 1) -> None:
    """All cells, in this process, and the merged tables."""
    asked = config.load(store.experiment)
    for one in store.outline.cells:
        outcome = cell.run(store.folder, asked, one, cell.Settings(workers=workers, every=every))
        assert outcome.state == "done", outcome.reason
    run.finish(store)


def tables(store: Store) -> dict[str, bytes]:
    found = {name: store.table(name) for name in ("rounds", "decisions", "listening")}
    return {name: path.read_bytes() for name, path in found.items() if name != "listening" or path.is_file()}


def in_child(work, kill_after: float | None = None) -> int:
    """Does some work in a forked process, which may be killed after so many seconds; returns how it ended."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(3)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def dies_at(step: int) -> None:
    """Has this process die by SIGKILL at its n-th step of writing, be it before, inside or after a write."""
    steps = itertools.count()

    def tick() -> None:
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    for owner, name in [(os, "fsync"), (Path, "replace"), (Path, "unlink"), (Path, "rename"), (whole, "write")]:
        setattr(owner, name, _after(tick, getattr(owner, name), torn=name == "write"))


def _after(tick, function, torn=False):
    def stepped(*args, **settings):
        tick()
        done = function(*args, **settings)
        tick()
        return done

    def writing(path, fill):
        def half(file):
            fill(file)
            file.flush()
            tick()

        return stepped(path, half)

    return writing if torn else stepped
