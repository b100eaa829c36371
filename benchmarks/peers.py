"""What learning without a server costs beside learning alone: `python -m benchmarks.peers [cnn] [cnn-one-epoch] [many]`.

`cnn`: 100 clients with a convolutional network and ten neighbors each; a round of each rule and a round of local training
by turns, in seconds of processor time, which a busy neighbor does not lengthen much. `many`: 1,000 clients with a
perceptron, everybody linked to everybody, each rule in a process of its own, with the most memory that it ever held.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from coterie import data
from coterie.backbones import SGD
from coterie.catalog import method
from coterie.federation import Steps
from coterie.recipe import play
from coterie.record import Record
from coterie.simulation import Simulation, simulate

RULES = ("local", "gossip", "afind", "afind-plus", "federico", "pens", "wary")
SETTINGS = {"gossip": {"peers": 10}, "pens": {"search": 10_000}}
"""PENS is measured while it searches, which is when it asks."""
NEVER = 10**6
"""No round is evaluated."""


def federation(clients: int, samples: int, model: str, workers: int) -> Simulation:
    scheme = data.dis_pfl(alpha=0.1, samples=samples)
    return simulate(
        "fashion-mnist", partition=scheme, clients=clients, seed=1, model=model, workers=workers, evaluate_every=NEVER
    )


def rounds(name: str, fed: Simulation, steps: Steps, **more: object) -> Iterator[Record]:
    given = {**SETTINGS.get(name, {}), **(more if name != "local" else {})}
    return play(method(name, backbone=SGD(steps), settings=given), fed, NEVER)


def beside_local(epochs: int, times: int = 2) -> None:
    """Processor seconds of a round of each rule over those of local training, medians."""
    steps = Steps(epochs=epochs, batch_size=64, lr=0.01, momentum=0.9)
    feds = {name: federation(100, 125, "cnn", 1) for name in RULES}
    played = {name: rounds(name, feds[name], steps, topology="regular:10") for name in RULES}
    taken: dict[str, list[float]] = {name: [] for name in RULES}
    for _ in range(times + 1):
        for name in RULES:
            taken[name].append(seconds(lambda name=name: next(played[name]), process_time))
    alone = median(taken["local"][1:])
    print(f"100 clients, cnn, 100 training samples and 10 neighbors each, {epochs} local epochs")
    for name in RULES:
        middle = median(taken[name][1:])
        print(f"  {name:12} {middle:7.2f} s a round, {middle / alone:5.2f} times local training", flush=True)
    for fed in feds.values():
        fed.close()


def seconds(run: Callable[[], object], clock: Callable[[], float] = perf_counter) -> float:
    started = clock()
    run()
    return clock() - started


def many(name: str, times: int = 3) -> dict[str, float]:
    """A rule among 1,000 clients on a full graph, in this process."""
    steps = Steps(epochs=1, batch_size=64, lr=0.01, momentum=0.9)
    fed = federation(1_000, 50, "mlp", 1)
    played = rounds(name, fed, steps)
    taken = [seconds(lambda: next(played)) for _ in range(times)]
    fed.close()
    return {"seconds": median(taken[1:]), "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def alone(name: str) -> dict[str, float]:
    """The same in a process of its own, so that the memory is its own too."""
    command = [sys.executable, "-m", "benchmarks.peers", "--here", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=Path(__file__).parents[1])
    return dict(json.loads(done.stdout))


def all_many() -> None:
    print("1,000 clients, mlp, 40 training samples each, all linked to all, 1 local epoch (memory promised: 6 GB)")
    for name in RULES:
        found = alone(name)
        print(f"  {name:12} {found['seconds']:7.1f} s a round, {found['gigabytes']:5.2f} GB", flush=True)


JOBS: dict[str, Callable[[], None]] = {
    "cnn": lambda: beside_local(5),
    "cnn-one-epoch": lambda: beside_local(1),
    "many": all_many,
}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        print(json.dumps(many(sys.argv[2])))
    else:
        for job in sys.argv[1:] or JOBS:
            JOBS[job]()
