"""How fast the simulation is on this machine, side by side with a plain PyTorch loop and, if installed, Flower."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from statistics import median
from time import perf_counter

import torch

from coterie.catalog import fedavg
from coterie.data import Dataset, Shards
from coterie.experiments import beside_flower
from coterie.experiments.plain_loop import JOBS, Job, Loop, images
from coterie.recipe import play
from coterie.simulation import simulate

Measured = dict[str, float | str]
FLOWER = "-flower"
"""Ends the name of a job that is compared with Flower's simulation."""


def names() -> list[str]:
    """What can be measured here."""
    return [*JOBS, *(name + FLOWER for name in JOBS if beside_flower.installed())]


def bench(chosen: Iterable[str] = ()) -> dict[str, Measured]:
    """Measures jobs, all of them if none is named: seconds a round, medians.

    `reference_seconds` are the plain loop's on one thread or on all cores, whichever is faster; for names that end
    in -flower they are those of Flower's simulation with a client a core.
    """
    wanted = list(chosen) or names()
    for name in wanted:
        if name.removesuffix(FLOWER) not in JOBS:
            raise ValueError(f"bench: must be among {', '.join(names())}, not {name!r}")
        if name not in names():
            raise ValueError(f"bench: {name} needs Flower's simulation: install coterie[flower]")
    dataset, measured = images(), dict[str, Measured]()
    for name in dict.fromkeys(name.removesuffix(FLOWER) for name in wanted):
        one = measure(JOBS[name], dataset)
        if name in wanted:
            measured[name] = one
        if name + FLOWER in wanted:
            measured[name + FLOWER] = _beside_flower(name, one)
    return measured


def measure(job: Job, dataset: Dataset) -> Measured:
    """Measures one job: a round of the simulation and of each loop by turns, so that a busy neighbor slows all."""
    partition = Shards(2).split(dataset, job.clients, 0)
    simulation = simulate(dataset, partition=partition, model=job.model, holdout=0.0)
    loop = Loop(job, dataset, [partition[client] for client in range(job.clients)])
    rounds = play(fedavg(job.per_round), simulation, job.rounds + 1)
    threads = sorted({1, torch.get_num_threads()})
    runs: list[Callable[[], object]] = [partial(next, rounds), *(partial(loop.round, count) for count in threads)]
    try:
        times = [[_timed(run) for run in runs] for _ in range(job.rounds + 1)][1:]
    finally:
        simulation.close()
        torch.set_num_threads(threads[-1])
    ours, *loops = [median(column) for column in zip(*times, strict=True)]
    stand_in = "" if dataset.name == "fashion-mnist" else "; noise in place of images"
    return _compared(ours, min(loops), f"{job.what}{stand_in}; against a plain PyTorch loop")


def _beside_flower(name: str, ours: Measured) -> Measured:
    reference = beside_flower.seconds(name, JOBS[name].rounds)
    return _compared(float(ours["seconds"]), reference, f"{JOBS[name].what}; against Flower's simulation")


def _compared(seconds: float, reference: float, what: str) -> Measured:
    return {"seconds": seconds, "reference_seconds": reference, "ratio": reference / seconds, "what": what}


def _timed(run: Callable[[], object]) -> float:
    started = perf_counter()
    run()
    return perf_counter() - started
