"""What the selectors cost a server with many clients, on one thread: `python -m benchmarks.selectors [NAME…]`.

Each is timed apart from training and from answers: FedCor's choice and its refit, and FedCVR-Bolt's whole round, that is
choosing, learning and clustering, with the most memory that its process ever held.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from coterie.aggregators import BySize
from coterie.backbones import SGD
from coterie.coalitions.spectral_clustering import spectral_clustering
from coterie.federation import Ask, Layout, View
from coterie.plan import Plan
from coterie.recipe import Central
from coterie.replies import Replies
from coterie.roster import Roster
from coterie.selectors import FedCVRBolt
from coterie.selectors.loss_gp import Evidence, Posterior, fit, most_telling

Measured = dict[str, Any]


def timed(run: Callable[[], Any], times: int) -> float:
    """The median seconds of processor time of several runs, which a busy neighbor does not lengthen much."""
    taken = []
    for _ in range(times):
        started = process_time()
        run()
        taken.append(process_time() - started)
    return median(taken)


def fedcor_choice() -> Measured:
    clients, dims = 100_000, 15
    x = np.random.default_rng(0).normal(size=(clients, dims)) / np.sqrt(dims)
    share, everybody = np.full(clients, 1 / clients), np.arange(clients)
    seconds = timed(lambda: most_telling(Posterior.prior(x, share, everybody), np.ones(clients), 100, 0.01), 5)
    return {"seconds": seconds, "at_most": 0.5, "what": "FedCor chooses 100 of 100,000 clients, d = 15"}


def fedcor_refit() -> Measured:
    clients, dims = 100_000, 15
    rng = np.random.default_rng(0)
    x = rng.normal(size=(clients, dims)) / np.sqrt(dims)
    evidence = Evidence(0.1 * rng.normal(size=(20, clients)), np.ones(20), 0.01)
    seconds = timed(lambda: fit(x, evidence, 100), 1)
    return {"seconds": seconds, "at_most": 30, "what": "FedCor refits 100,000 embeddings on 20 samples, 100 steps of Adam"}


def fedcvr_round(clients: int, per_round: int, dims: int) -> tuple[float, float]:
    """Seconds of a round of FedCVR-Bolt after its warm-up, and of the clustering in it. Every client was seen."""
    rng = np.random.default_rng(0)
    roster = Roster.of(map(str, range(clients)), size=np.full(clients, 10))
    layout = Layout(("0.weight",), ((dims,),))
    model = rng.normal(size=(1, dims)).astype(np.float32)
    recipe = Central(SGD(), BySize(), FedCVRBolt(per_round, warmup=1, max_dim=dims))
    state = recipe.begin(roster)
    groups = rng.normal(size=(per_round, dims)).astype(np.float32)

    def view(t: int) -> View:
        return View(t, roster, roster.ids, model, np.zeros(clients, np.intp), layout, Nobody(), 0)

    def replies(plan: Plan, t: int) -> Replies:
        noise = 0.5 * np.random.default_rng(t).normal(size=(len(plan.trainers), dims))
        models = (groups[plan.trainers % per_round] + noise).astype(np.float32)
        return Replies(plan.trainers, models, np.full(len(plan.trainers), 10))

    def play(t: int) -> None:
        nonlocal state
        plan = recipe.plan(view(t), state)
        state = recipe.mix(view(t), plan, replies(plan, t), state)[1]

    play(1)
    selector = state["selector"]
    everybody = Plan.star(roster.ids, SGD())
    seen = replace(selector.seen, models=replies(everybody, 0).models)
    state["selector"] = replace(selector, seen=seen)
    turns = iter(range(2, 99))
    times = 3 if clients <= 10_000 else 1
    whole = timed(lambda: play(next(turns)), 30 if clients == 100 else times)
    points = state["selector"].seen.models
    return whole, timed(lambda: spectral_clustering(points, per_round, rng), 30 if clients == 100 else times)


class Nobody(Ask):
    """FedCVR-Bolt asks nothing."""

    losses = gradients = probe = models = label_counts = None  # type: ignore[assignment]


def fedcvr_small() -> Measured:
    whole, clustering = fedcvr_round(100, 10, 300)
    what = "a round of FedCVR-Bolt beyond clustering: 100 clients, D = 300, P = 10"
    return {"seconds": max(whole - clustering, 0), "at_most": 0.005, "clustering": clustering, "what": what}


def fedcvr_large() -> Measured:
    whole, clustering = fedcvr_round(10_000, 100, 300)
    what = "a whole round of FedCVR-Bolt: 10,000 clients, D = 300, P = 100"
    return {"seconds": whole, "at_most": 3, "clustering": clustering, "megabytes_at_most": 600, "what": what}


def fedcvr_huge() -> Measured:
    whole, clustering = fedcvr_round(100_000, 100, 300)
    what = "a whole round of FedCVR-Bolt: 100,000 clients, D = 300, P = 100"
    return {"seconds": whole, "at_most": 30, "clustering": clustering, "what": what}


BENCHMARKS: dict[str, Callable[[], Measured]] = {
    "fedcor-choice": fedcor_choice,
    "fedcor-refit": fedcor_refit,
    "fedcvr-small": fedcvr_small,
    "fedcvr-large": fedcvr_large,
    "fedcvr-huge": fedcvr_huge,
}


def alone(name: str) -> Measured:
    """A benchmark in a process of its own, so that the memory is its own too."""
    command = [sys.executable, "-m", "benchmarks.selectors", "--here", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=Path(__file__).parents[1])
    return dict(json.loads(done.stdout))


def here(name: str) -> Measured:
    """A benchmark in this process."""
    with threadpool_limits(1):
        measured = BENCHMARKS[name]()
    return {**measured, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        print(json.dumps(here(sys.argv[2])))
    else:
        print(json.dumps({name: alone(name) for name in sys.argv[1:] or BENCHMARKS}, indent=2))
