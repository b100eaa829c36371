"""FedCor's Table 1 (Tang et al., 2022): rounds to a target accuracy under label skew, and the curves behind it.

Settings `2spc`, `1spc` and `dir` are on Fashion-MNIST, `cifar-2spc`, `cifar-1spc` and `cifar-dir` on CIFAR-10. `interval`
and `annealing` are the curves and selection counts of Figures 5 and 6 (2SPC). The report of each run draws the curves of
Figure 4, who is chosen how often, and the embeddings of Figure 7.

A method ends with a seed once it has reached the target and played 200 rounds, so figures of the last rounds are not of the
same round for all; compare those of rounds 191 to 200. `--rounds` is where a method that never arrives gives up.

Settings are those of the authors' code where the paper is silent: a 64-30 network with dropout before each ReLU, plain mean
of the chosen (`by-size` beside it where sizes differ), inputs normalized with MNIST's constants, 20 % of each client's
samples held out for all losses, and `dir` with 0.2 as the *total* concentration. The target is its first raw crossing on
the official test set. Round-robin and `fedcor-probe` are not in the paper. Power-of-choice draws 10 candidates; under 1SPC,
where 10 of 10 would be random choice, it draws 20, since the paper does not say how many.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coterie.experiments import metrics
from coterie.experiments.metrics import Rounds
from coterie.experiments.reproduce import Options
from coterie.experiments.reproduce._beside import Figure, Setting, Sizes, clients_between, play, transfers

TARGET = "rounds_to_target"
FASHION: dict[str, Any] = {
    "dataset": "fashion-mnist",
    "clients": 100,
    "model": "mlp:64-30:dropout=0.5",
    "rounds": 500,
    "enough_rounds": 200,
    "training": {"epochs": 3, "batch_size": 64, "lr": 5e-3, "weight_decay": 1e-4, "halve_at": [150, 300]},
}
CIFAR: dict[str, Any] = {
    "dataset": "cifar-10",
    "clients": 100,
    "model": "cnn-cifar",
    "rounds": 2000,
    "enough_rounds": 200,
    "training": {"epochs": 5, "batch_size": 50, "lr": 0.01, "weight_decay": 3e-4},
}
ON_CIFAR: dict[str, Any] = {"warmup": 20, "refit_every": 50, "beta": 0.9, "discount": 0.99, "window": 500}
"""FedCor's settings there; the last two are of the authors' second code."""
TUNED: dict[str, Any] = {"method": "fedcor-probe", "count": "clients", "lean": 0.5, "beta": 0.9}
"""Ours, for `dir`; tuned on seeds 101 and 102, on which it is not judged."""
SHARDS_2, SHARDS_1 = {"scheme": "shards", "per_client": 2}, {"scheme": "shards", "per_client": 1}
DIRICHLET = {"scheme": "dirichlet-total", "alpha": 0.2}


def transfers_to_target(target: float) -> Figure:
    """What crossed until the target was first reached, in models sent one way."""

    def figure(rounds: Rounds, sizes: Sizes) -> float:
        reached = np.flatnonzero(rounds["accuracy"].to_numpy() >= target)
        return float(transfers(rounds).cumsum()[reached[0]]) if len(reached) else np.nan

    return figure


def at_transfers(count: int) -> Figure:
    """Mean accuracy of the last ten rounds that were over after so many transfers; NaN if a run ends before."""

    def figure(rounds: Rounds, sizes: Sizes) -> float:
        paid = transfers(rounds).cumsum()
        return _mean(rounds["accuracy"].to_numpy()[paid <= count][-10:]) if paid[-1] >= count else np.nan

    return figure


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else np.nan


def more(target: float) -> dict[str, Figure]:
    """What the table should have: cost, the steadier level, how it swings, and both ways to average over clients."""
    return {
        "transfers_to_target": transfers_to_target(target),
        "accuracy_at_1500_transfers": at_transfers(1500),
        "accuracy_rounds_191_200": lambda rounds, sizes: metrics.accuracy_between(rounds, 191, 200),
        "swing_rounds_91_110": lambda rounds, sizes: metrics.swing(rounds, 91, 110),
        "clients_rounds_191_200": clients_between(191, 200, weighted=False),
        "by_size_rounds_191_200": clients_between(191, 200, weighted=True),
    }


SPENT: dict[str, Figure] = {
    TARGET: lambda rounds, sizes: float(len(rounds)),
    "transfers_to_target": lambda rounds, sizes: float(transfers(rounds).sum()),
}
"""A target that was never reached counts as if it were in the round, and with the transfers, at which the run ended."""


def table(random: str, active: str, power: str, fedcor: str) -> dict[str, str]:
    """A column of Table 1; N/A is a target that some seeds never reached."""
    return {"uniform": random, "active-fl": active, "power-of-choice": power, "fedcor": fedcor}


def methods(candidates: int = 10, **fedcor: Any) -> dict[str, dict[str, Any]]:
    """Who takes part in every setting."""
    probe = {name: value for name, value in fedcor.items() if name == "warmup"}
    return {
        "uniform": {},
        "round-robin": {},
        "active-fl": {"alpha1": 0.75, "alpha2": 0.01, "alpha3": 0.1},
        "power-of-choice": {"candidates": candidates},
        "fedcor": fedcor,
        "fedcor-probe": probe,
    }


def by_size() -> dict[str, dict[str, Any]]:
    """Some of them averaged by size, where sizes differ."""
    return {f"{name}-by-size": {"method": name, "aggregator": "by-size"} for name in ("uniform", "fedcor", "fedcor-probe")}


def column(base: Mapping[str, Any], partition: Mapping[str, Any], per_round: int, target: float) -> dict[str, Any]:
    """The experiment of one column."""
    return {**base, "partition": dict(partition), "per_round": per_round, "target": target}


def compared(
    what: str,
    experiment: Mapping[str, Any],
    methods: Mapping[str, Mapping[str, Any]],
    paper: Mapping[str, str] | None = None,
    seeds: int = 5,
) -> Setting:
    """Methods by their rounds to a target."""
    return Setting(what, experiment, methods, TARGET, paper or {}, seeds, more(experiment["target"]), SPENT)


def swept(what: str, **variants: Mapping[str, Any]) -> Setting:
    """FedCor with some settings, beside random choice, under 2SPC on Fashion-MNIST."""
    entries = {label.replace("_", "-"): {"method": "fedcor", **settings} for label, settings in variants.items()}
    return compared(what, column(FASHION, SHARDS_2, 5, 0.69), {"uniform": {}, **entries})


SETTINGS: dict[str, Setting] = {
    "2spc": compared(
        "Fashion-MNIST, two shards a client, 5 of 100 a round: rounds to 69 %",
        column(FASHION, SHARDS_2, 5, 0.69),
        methods(),
        table("295.8 ± 92.0", "218.6 ± 117.3", "126.6 ± 78.2", "94.8 ± 18.4"),
        seeds=10,
    ),
    "1spc": compared(
        "Fashion-MNIST, one shard a client, 10 of 100 a round: rounds to 62 %",
        column(FASHION, SHARDS_1, 10, 0.62),
        methods(candidates=20),
        table("N/A", "N/A", "167.2 ± 72.3", "84.0 ± 53.1"),
    ),
    "dir": compared(
        "Fashion-MNIST, Dirichlet of total concentration 0.2, 5 of 100 a round: rounds to 64 %",
        column(FASHION, DIRICHLET, 5, 0.64),
        {**methods(), "fedcor-probe-tuned": TUNED, **by_size()},
        table("141.0 ± 73.0", "169.0 ± 166.1", "123.0 ± 101.0", "68.8 ± 27.5"),
    ),
    "cifar-2spc": compared(
        "CIFAR-10, two shards a client, 5 of 100 a round: rounds to 62 %",
        column(CIFAR, SHARDS_2, 5, 0.62),
        methods(**ON_CIFAR),
        table("1561.2 ± 236.2", "N/A", "1558.2 ± 227.0", "1033.4 ± 123.7"),
    ),
    "cifar-1spc": compared(
        "CIFAR-10, one shard a client, 10 of 100 a round: rounds to 36 %",
        column(CIFAR, SHARDS_1, 10, 0.36),
        methods(candidates=20, **ON_CIFAR),
        table("1750.4 ± 190.3", "1845.2 ± 28.8", "1752.2 ± 186.2", "1269.2 ± 70.6"),
    ),
    "cifar-dir": compared(
        "CIFAR-10, Dirichlet of total concentration 0.2, 5 of 100 a round: rounds to 54 %",
        column(CIFAR, DIRICHLET, 5, 0.54),
        methods(**ON_CIFAR),
        table("N/A", "1524.4 ± 267.9", "1355.2 ± 151.3", "1076.8 ± 262.8"),
    ),
    "interval": swept(
        "Figure 5: how often FedCor refits",
        every_10={"refit_every": 10, "beta": 0.95},
        every_20={"refit_every": 20, "beta": 0.95},
        never={"refit_every": 500, "beta": 0.99},
    ),
    "annealing": swept(
        "Figure 6: how much FedCor discounts those whom it chose",
        beta_50={"beta": 0.5},
        beta_75={"beta": 0.75},
        beta_90={"beta": 0.9},
    ),
}


def run(options: Options) -> Mapping[str, Any]:
    """Plays one setting beside the paper's column."""
    return play("fedcor-table1", SETTINGS, options)
