"""FedCVR-Bolt's Tables 1 to 4: federated regression, Synthetic(1,1), MNIST and CIFAR-10, beside two plain controls.

Settings `line`, `line-iid`, `plane` and `plane-iid` are Table 1 (a model of one coordinate, or of two with the intercept),
`synthetic`, `mnist` and `cifar` Table 2. Clients of `line` and `plane` draw their group, so the two groups differ in size;
those of `line-even` and `plane-even` are fifty each. `synthetic-equal` gives every client of Synthetic(1,1) as many samples,
so that weights cannot matter; `fashion` is `mnist` on Fashion-MNIST. The paper's numbers are of Table 1 (one seed) and
Table 4 (three seeds, ± two standard deviations). Round-robin and `clusters-only` are not in the paper: what FedCVR-Bolt
gains over them is its own. Neither is `fedcor-probe`, which Synthetic(1,1) shows beside the rest.

Where the paper is silent: the parameters of the regression are not printed, those here are tuned to the errors of its first
table. Power-of-choice and active FL look at the loss on clients' training samples, where the paper says test samples, which a
server must not see. Everything is averaged by size as in the paper, but for what is called `plain`. `by size` beside
`clients` tells the two ways to average over clients apart; the paper's level on Synthetic(1,1) fits the former.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coterie.experiments import metrics
from coterie.experiments.metrics import Rounds
from coterie.experiments.reproduce import Options
from coterie.experiments.reproduce._beside import Figure, Setting, Sizes, clients_last_fifth, last_fifth_loss, play

COMMON: dict[str, Any] = {
    "clients": 100,
    "per_round": 10,
    "holdout": 0.0,
    "aggregator": "by-size",
    "training": {"epochs": 10, "batch_size": 100, "lr": 0.01},
}


TUNED: dict[str, Any] = {"method": "fedcor-probe", "count": "clients", "lean": -0.5, "beta": 0.5}
"""Ours, for Synthetic(1,1); tuned on seeds 101 to 103, on which it is not judged."""
ACCURACIES: dict[str, Figure] = {
    "clients_last_fifth": clients_last_fifth(weighted=False),
    "by_size_last_fifth": clients_last_fifth(weighted=True),
    "test_set_last_fifth": lambda rounds, sizes: metrics.last_fifth(rounds),
}
"""Steadier than the last round, by both ways to average over clients, and on the whole test set."""


def never(rounds: Rounds, sizes: Sizes) -> float:
    """Nothing stands for a loss that is missing."""
    return float("nan")


def methods(**fedcvr: Any) -> dict[str, dict[str, Any]]:
    """Who takes part; the settings are of what clusters."""
    clusters = {name: value for name, value in fedcvr.items() if name != "beta"}
    return {
        "uniform": {},
        "round-robin": {},
        "power-of-choice": {"candidates": 20},
        "active-fl": {"alpha1": 0.8, "alpha2": 1.0, "alpha3": 0.0},
        "clusters-only": clusters,
        "fedcvr-bolt": fedcvr,
    }


def plain(**fedcvr: Any) -> dict[str, dict[str, Any]]:
    """Some of them averaged plainly, which moves more than any choice where sizes differ."""
    settings = {"uniform": {}, "power-of-choice": {"candidates": 20}, "fedcvr-bolt": fedcvr}
    return {f"{name}-plain": {"method": name, "aggregator": "mean", **one} for name, one in settings.items()}


def table(random: str, power: str, active: str, fedcvr: str) -> dict[str, str]:
    """What the paper prints."""
    return {"uniform": random, "power-of-choice": power, "active-fl": active, "fedcvr-bolt": fedcvr}


def regression(what: str, dims: int, groups: int, paper: Mapping[str, str], even: bool = False) -> Setting:
    """Federated linear regression; its coalitions are made of models as they are, which have no more than two coordinates."""
    experiment = {
        **COMMON,
        "dataset": f"regression({dims}, {groups}{', even=True' if even else ''})",
        "partition": {"scheme": "natural"},
        "model": "line",
        "rounds": 100,
    }
    figures = {"last_fifth_loss": last_fifth_loss}
    return Setting(what, experiment, methods(affinity="raw"), "loss", paper, 8, figures, {"last_fifth_loss": never})


def synthetic(what: str, sizes: str, paper: Mapping[str, str]) -> Setting:
    """Softmax regression on Synthetic(1,1)."""
    experiment = {
        **COMMON,
        "dataset": f'synthetic(1, 1, sizes="{sizes}")',
        "partition": {"scheme": "natural"},
        "model": "linear",
        "rounds": 100,
    }
    taking_part = {**methods(max_dim=610), "fedcor-probe": {}, "fedcor-probe-tuned": TUNED, **plain(max_dim=610)}
    return Setting(what, experiment, taking_part, "client_accuracy", paper, 10, ACCURACIES)


def images(what: str, dataset: str, model: str, rounds: int, max_dim: int, paper: Mapping[str, str]) -> Setting:
    """Labels by Dir(0.1) for each class over clients; every client's own samples are split for its test."""
    experiment = {
        **COMMON,
        "dataset": dataset,
        "partition": {"scheme": "dirichlet", "alpha": 0.1},
        "test": "own",
        "model": model,
        "rounds": rounds,
    }
    return Setting(what, experiment, methods(max_dim=max_dim), "client_accuracy", paper, more=ACCURACIES)


SETTINGS: dict[str, Setting] = {
    "line": regression(
        "Regression without intercept, two groups: test error",
        *(1, 2),
        table("73.47", "73.30", "73.17", "71.38"),
    ),
    "line-iid": regression(
        "Regression without intercept, IID: test error",
        *(1, 1),
        table("7.362", "7.371", "7.377", "7.371"),
    ),
    "plane": regression(
        "Regression with intercept, two groups: test error",
        *(2, 2),
        table("2.055", "2.040", "2.123", "2.020"),
    ),
    "line-even": regression("Regression without intercept, two groups of fifty: test error", 1, 2, {}, even=True),
    "plane-even": regression("Regression with intercept, two groups of fifty: test error", 2, 2, {}, even=True),
    "plane-iid": regression(
        "Regression with intercept, IID: test error",
        *(2, 1),
        table("0.0587", "0.0584", "0.0584", "0.0580"),
    ),
    "synthetic": synthetic(
        "Synthetic(1,1), log-normal sizes: accuracy, mean over clients",
        "lognormal",
        table("0.727 ± 0.020", "0.781 ± 0.026", "0.781 ± 0.026", "0.794 ± 0.012"),
    ),
    "synthetic-equal": synthetic("Synthetic(1,1), 500 samples a client: accuracy, mean over clients", "equal", {}),
    "mnist": images(
        "MNIST, Dir(0.1), 200-200 network, the whole last layer: accuracy, mean over clients",
        *("mnist", "mlp-200", 200, 2010),
        table("0.869 ± 0.010", "0.849 ± 0.060", "0.901 ± 0.011", "0.908 ± 0.009"),
    ),
    "fashion": images(
        "Fashion-MNIST, Dir(0.1), 200-200 network: accuracy, mean over clients",
        *("fashion-mnist", "mlp-200", 200, 2010),
        {},
    ),
    "cifar": images(
        "CIFAR-10, Dir(0.1), D = 300 of the last layer: accuracy, mean over clients",
        *("cifar-10", "cnn-cifar", 100, 300),
        table("0.528 ± 0.017", "0.499 ± 0.009", "0.511 ± 0.067", "0.566 ± 0.008"),
    ),
}


def run(options: Options) -> Mapping[str, Any]:
    """Plays one setting beside the paper's row."""
    return play("fedcvr-tables", SETTINGS, options)
