"""StackFed's figures 4.2 to 4.7 (thesis, chapter 4): accuracy, class diversity and entropy of the selected, time of the choice.

Settings `q4` and `q5` train on Fashion-MNIST for 50 rounds: 100 clients, of whom a fifth have machines four times as strong,
labels by a Dirichlet distribution of 0.3 within each client, four leaders with quotas of 4 or 5, and as many clients a round
for the rivals. `time` is Figure 4.2: greedy and exhaustive choice in a pool of 50.

Where the source is silent: how many clients and leaders there are, who holds what, models and local steps. Random choice
is judged by the clients of one round (the last); over 50 rounds it trains everybody, whose data are nearly balanced.
`stackfed-printed` has payments and weights as printed, `stackfed-joint` chooses by the joint data score, which is ours.
K-MNIST and USPS, the source's other data, cannot be had by the usual ways and are not played.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.experiments import metrics
from coterie.experiments.problems import BadInputError, Problem, unknown
from coterie.experiments.reproduce import Options
from coterie.experiments.reproduce._beside import Setting, play

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLIENTS, LEADERS, ALPHA = 100, 4, 0.3
PAPER_DIVERSITY = {4: {"stackfed": "0.74", "rivals": "0.31–0.39"}, 5: {"stackfed": "0.73", "rivals": "0.13–0.33"}}
"""Figures 4.5 and 4.6."""
ENTROPY_GAIN = "+21.6 %"
"""Figure 4.7: how much more entropy the selected have than all clients."""


def setting(quota: int) -> Setting:
    """Everybody's accuracy at one quota."""
    many = LEADERS * (quota + 1)
    ours = {"leaders": LEADERS, "quota": quota}
    rival = {"per_round": many}
    return Setting(
        f"Fashion-MNIST, Dirichlet({ALPHA}), {LEADERS} leaders with {quota} followers each, or {many} of {CLIENTS} clients",
        {
            "dataset": "fashion-mnist",
            "clients": CLIENTS,
            "model": "mlp",
            "rounds": 50,
            "per_round": many,
            "partition": {"scheme": "inner-dirichlet", "alpha": ALPHA},
            "world": {"devices": "tiers"},
            "training": {"epochs": 2, "batch_size": 32, "lr": 0.01},
            "evaluate_every": 2,
        },
        {
            "stackfed": ours,
            "stackfed-joint": {"method": "stackfed", **ours, "choice": "joint", "shortlist": 10 * LEADERS},
            "stackfed-printed": {"method": "stackfed", **ours, "choice": "printed", "equilibrium": "one-shot"},
            "only-leaders": {},
            "uniform": rival,
            "fedmccs": rival,
            "server-stackelberg": rival,
        },
        "last_fifth_accuracy",
        {"stackfed": "first", "server-stackelberg": "second"},
        seeds=5,
    )


SETTINGS = {"q4": setting(4), "q5": setting(5)}


def run(options: Options) -> Mapping[str, Any]:
    """Plays one quota, or times the choice."""
    if options.setting == "time":
        return {"setting": "time", "pool": 50, "seconds": timed()}
    if options.setting is not None and options.setting not in SETTINGS:
        raise BadInputError([Problem("--setting", unknown("setting", options.setting, [*SETTINGS, "time"]))])
    found = play("stackfed-figures", SETTINGS, options)
    name = found["setting"]
    found["selected"] = selected(SETTINGS[name], found["trace"], options)
    _show(int(name.removeprefix("q")), found["selected"])
    return found


def selected(setting: Setting, trace: list[Mapping[str, Any]], options: Options) -> dict[str, dict[str, Any]]:
    """Of each method, over seeds: how balanced the data are of those who trained in the last round, and how mixed each is."""
    last = {(one["method"], one["seed"]): np.array(one["chosen"], np.intp) for one in trace}
    counts = {seed: label_counts(setting, seed, options) for seed in {seed for _, seed in last}}
    found: dict[str, dict[str, Any]] = {}
    for method in dict.fromkeys(method for method, _ in last):
        of = {seed: counts[seed][chosen] for (label, seed), chosen in last.items() if label == method}
        values: dict[str, list[float]] = {
            "clients": [len(held) for held in of.values()],
            "class_diversity": [_diversity(held) for held in of.values()],
            "entropy": [float(_entropy(held).mean()) for held in of.values()],
            "entropy_over_all": [float(_entropy(held).mean() / _entropy(counts[seed]).mean()) for seed, held in of.items()],
        }
        found[method] = {name: asdict(metrics.over_seeds(each)) for name, each in values.items()}
    return found


def label_counts(setting: Setting, seed: int, options: Options) -> NDArray[np.int64]:
    """Clients × classes of one seed's partition."""
    from coterie import data

    dataset = data.load(setting.experiment["dataset"], options.data_dir)
    parted = data.inner_dirichlet(ALPHA).split(dataset, CLIENTS, seed)
    return np.stack([np.bincount(dataset.y[parted[client]], minlength=dataset.classes) for client in range(CLIENTS)])


def timed(pool: int = 49, quotas: tuple[int, ...] = (2, 3, 4, 5)) -> dict[str, dict[str, float]]:
    """Figure 4.2: seconds of Algorithm 8 and of looking at all groups, and what part of the best utility the first gets."""
    from coterie import seeds
    from coterie.coalitions.data_scores import Worth
    from coterie.coalitions.leader_follower import LeaderFollower, best_group

    dice = seeds.rng(1, "pool")
    counts = np.stack([dice.multinomial(500, shares) for shares in dice.dirichlet(np.full(10, ALPHA), pool + 1)])
    lists = LeaderFollower(shortlist=pool).shortlists(counts[:1], counts[1:], dice, Worth.within(counts))
    found = {}
    for quota in quotas:
        former = LeaderFollower(quota=quota)
        started = perf_counter()
        greedy = np.argsort(-former.likes(lists.leader_gain, lists.payment), kind="stable")[:quota]
        middle = perf_counter()
        best = best_group(lists.leader_gain, lists.payment, quota)
        ended = perf_counter()
        worth = lists.leader_gain * lists.payment
        found[str(quota)] = {
            "greedy": middle - started,
            "exhaustive": ended - middle,
            "share_of_best": float(worth[greedy].sum() / worth[best].sum()),
        }
        print(
            f"Q = {quota}: greedy {middle - started:.6f} s, exhaustive {ended - middle:.3f} s, "
            f"greedy reaches {found[str(quota)]['share_of_best']:.4f} of the best utility",
            flush=True,
        )
    return found


def _diversity(counts: NDArray[np.int64]) -> float:
    from coterie.coalitions.data_scores import class_diversity

    return class_diversity(counts)


def _entropy(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    from coterie.coalitions.data_scores import Worth

    return np.asarray(Worth.within(counts).parts(counts)[2])


def _show(quota: int, found: Mapping[str, Mapping[str, Any]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Those who trained in the last round", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for title in ("method", "clients", "class diversity", "paper", "entropy of each", "over all clients'"):
        table.add_column(title, justify="left" if title == "method" else "right")
    for method, one in found.items():
        paper = PAPER_DIVERSITY[quota]["stackfed" if method.startswith("stackfed") else "rivals"]
        gain = f"{one['entropy_over_all']['mean'] - 1:+.1%}"
        table.add_row(
            method,
            f"{one['clients']['mean']:.1f}",
            f"{one['class_diversity']['mean']:.2f} ± {one['class_diversity']['sd'] or 0:.2f}",
            paper,
            f"{one['entropy']['mean']:.2f}",
            gain,
        )
    Console().print(table)
    Console().print(f"The thesis has {ENTROPY_GAIN} for the entropy of those whom StackFed selects.", highlight=False)
