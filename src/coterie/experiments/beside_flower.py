"""Flower's simulation at the same job, in a process of its own: `python -m coterie.experiments.beside_flower mlp 6`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import OrderedDict
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any

from coterie.data import Shards
from coterie.experiments.on_flower import QUIET
from coterie.experiments.plain_loop import JOBS, Loop, images


def installed() -> bool:
    """Whether Flower and the Ray that its simulation runs on can be imported."""
    return find_spec("flwr") is not None and find_spec("ray") is not None


def seconds(name: str, rounds: int) -> float:
    """Seconds a round, the median over so many rounds after the first two."""
    run = [sys.executable, "-m", "coterie.experiments.beside_flower", name, str(rounds)]
    done = subprocess.run(run, env={**os.environ, **QUIET}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"bench: Flower's simulation failed:\n{done.stderr[-2000:]}")
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return median(found[2:])


@cache
def loop(name: str) -> Loop:
    """The plain loop, with all clients' tensors; once a process."""
    dataset = images()
    job = JOBS[name]
    partition = Shards(2).split(dataset, job.clients, 0)
    return Loop(job, dataset, [partition[client] for client in range(job.clients)])


def times(name: str, rounds: int) -> list[float]:
    """Plays rounds of federated averaging on Flower and returns the seconds between their evaluations."""
    from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid, ServerApp
    from flwr.serverapp.strategy import FedAvg
    from flwr.simulation import run_simulation

    job, client_app, server_app = JOBS[name], ClientApp(), ServerApp()
    ends: list[float] = []

    def train(message: Message, context: Context) -> Message:
        from coterie.experiments.beside_flower import loop

        here = loop(name)
        here.model = list(message.content["arrays"].to_torch_state_dict().values())
        x, y = here.data[int(context.node_config["partition-id"])]
        arrays = ArrayRecord(OrderedDict(zip(here.names, here.train(x, y), strict=True)))
        content = {"arrays": arrays, "metrics": MetricRecord({"num-examples": len(y)})}
        return Message(content=RecordDict(content), reply_to=message)

    def evaluate(server_round: int, arrays: ArrayRecord) -> MetricRecord:
        judge = loop(name)
        judge.model = list(arrays.to_torch_state_dict().values())
        accuracy = judge.accuracy()
        ends.append(perf_counter())
        return MetricRecord({"accuracy": accuracy})

    def main(grid: Grid, context: Context) -> None:
        start = loop(name)
        count = {"min_train_nodes": job.per_round, "min_available_nodes": job.clients}
        strategy = FedAvg(fraction_train=job.per_round / job.clients, fraction_evaluate=0.0, **count)
        initial = ArrayRecord(OrderedDict(zip(start.names, start.model, strict=True)))
        strategy.start(grid=grid, initial_arrays=initial, num_rounds=rounds, evaluate_fn=evaluate)

    client_app.train()(train)
    server_app.main()(main)
    resources: dict[str, Any] = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}}
    run_simulation(server_app=server_app, client_app=client_app, num_supernodes=job.clients, backend_config=resources)
    return [after - before for before, after in pairwise(ends)]


if __name__ == "__main__":
    print(json.dumps(times(sys.argv[1], int(sys.argv[2]) + 2)))
