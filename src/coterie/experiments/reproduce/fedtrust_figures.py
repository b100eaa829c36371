"""FedTrust's figures 3.2 to 3.4 (thesis, chapter 3): the threshold, the selfish among those who train, and accuracy.

Settings `n20` to `n100` are figures 3.3 and 3.4: as many devices on Fashion-MNIST, a fifth of them selfish, at 15 % of their
machines where honest ones give 70 %. `thresholds` is figure 3.2 with 100 devices: whom FedTrust leaves alone at thresholds
from 0.05 to 0.30, and at its default. Without a setting all are played.

Where the source is silent: who holds what (a Dirichlet distribution of 0.5 within each label), models, local steps, rounds,
and how many vanilla FL and DDQN-FL choose: as many as there are honest devices, so that everybody could train with none but
these. Selfish devices take fewer mini-batches; honest readings have hiccups in 2 % of the moments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.experiments import metrics
from coterie.experiments.problems import BadInputError, Problem, unknown
from coterie.experiments.reproduce import Options
from coterie.experiments.reproduce._beside import Setting, play

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEVICES, SELFISH = (20, 40, 60, 80, 100), 0.2
THRESHOLDS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5)
PAPER_SHARE = {"fedavg": "20 %", "ddqn": "about 10 %", "fedtrust": "5 % at most"}
"""Figure 3.3."""
PAPER_ALONE = {0.05: "0 %", 0.1: "0 %", 0.15: "0 %", 0.3: "40 %"}
"""Figure 3.2, as far as it can be read off."""


def setting(
    what: str, devices: int, rounds: int, methods: Mapping[str, Mapping[str, Any]], paper: Mapping[str, str]
) -> Setting:
    """An experiment with a fifth of the devices selfish."""
    return Setting(
        what,
        {
            "dataset": "fashion-mnist",
            "clients": devices,
            "model": "mlp",
            "rounds": rounds,
            "per_round": round((1 - SELFISH) * devices),
            "partition": {"scheme": "dirichlet", "alpha": 0.5},
            "world": {"attack": "selfish", "attackers": SELFISH, "lazy_use": 0.15, "hiccups": 0.02},
            "training": {"epochs": 1, "batch_size": 32, "lr": 0.01},
            "evaluate_every": 4,
        },
        methods,
        "last_fifth_accuracy",
        paper,
        seeds=5,
    )


def devices(count: int) -> Setting:
    """Figures 3.3 and 3.4 with so many devices."""
    what = f"Fashion-MNIST, Dirichlet(0.5), {count} devices, a fifth of them selfish"
    methods: dict[str, dict[str, Any]] = {"fedavg": {}, "ddqn": {}, "fedtrust": {}, "fedtrust-printed": {}}
    return setting(what, count, 40, methods, {"fedavg": "third", "ddqn": "second", "fedtrust": "first"})


SETTINGS = {
    **{f"n{count}": devices(count) for count in DEVICES},
    "thresholds": setting(
        "FedTrust at several thresholds: Fashion-MNIST, Dirichlet(0.5), 100 devices, a fifth of them selfish",
        100,
        20,
        {
            **{f"fedtrust-{threshold}": {"method": "fedtrust", "threshold": threshold} for threshold in THRESHOLDS},
            "fedtrust-printed": {},
        },
        {},
    ),
}


def run(options: Options) -> Mapping[str, Any]:
    """Plays one setting, or all."""
    if options.setting is not None and options.setting not in SETTINGS:
        raise BadInputError([Problem("--setting", unknown("setting", options.setting, SETTINGS))])
    return one(options) if options.setting else {name: one(replace(options, setting=name)) for name in SETTINGS}


def one(options: Options) -> dict[str, Any]:
    """Plays a setting, and scores who trained by who is selfish."""
    name = str(options.setting)
    folder = None if options.out is None else options.out / name
    found = play("fedtrust-figures", SETTINGS, replace(options, out=folder))
    found["trained"] = trained(found["trace"], SETTINGS[name].experiment["clients"])
    found["over_fedavg"] = over(found["methods"], "fedavg")
    _show(name, found)
    return found


def trained(trace: list[Mapping[str, Any]], devices: int) -> dict[str, dict[str, Any]]:
    """Of each method, over seeds: the share of the selfish among those who trained over the last fifth of the rounds.

    And which part of the selfish, of the honest and of all did not train in the last round.
    """
    from coterie.simulation.attacks import Attack

    cells: dict[tuple[str, int], list[NDArray[np.intp]]] = {}
    for row in trace:
        cells.setdefault((row["method"], row["seed"]), []).append(np.array(row["chosen"], np.intp))
    found: dict[str, dict[str, Any]] = {}
    for method in dict.fromkeys(method for method, _ in cells):
        values: dict[str, list[float]] = {"selfish_share": [], "selfish_alone": [], "honest_alone": [], "alone": []}
        for (label, seed), chosen in cells.items():
            if label != method:
                continue
            selfish = Attack("selfish", SELFISH).who(seed, devices)
            last = np.concatenate(chosen[-max(1, len(chosen) // 5) :])
            alone = ~np.isin(np.arange(devices), chosen[-1])
            values["selfish_share"].append(float(selfish[last].mean()) if len(last) else 0.0)
            values["selfish_alone"].append(float(alone[selfish].mean()))
            values["honest_alone"].append(float(alone[~selfish].mean()))
            values["alone"].append(float(alone.mean()))
        found[method] = {name: asdict(metrics.over_seeds(each)) for name, each in values.items()}
    return found


def over(methods: Mapping[str, Mapping[str, Any]], baseline: str) -> dict[str, dict[str, Any]]:
    """How much more accurate each method is than one of them, seed by seed."""
    if baseline not in methods:
        return {}
    each = {label: one["last_fifth_accuracy"]["per_seed"] for label, one in methods.items()}
    return {label: asdict(one) for label, one in metrics.paired(each, baseline).items()}


def _show(name: str, found: Mapping[str, Any]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    swept = name == "thresholds"
    what = "Who is left alone in the last round" if swept else "Who trained in the last fifth of the rounds"
    table = Table(title=what, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    columns = (
        ("of the selfish", "of the honest", "of all", "paper") if swept else ("selfish", "paper", "accuracy over fedavg's")
    )
    for column in ("method", *columns):
        table.add_column(column, justify="left" if column == "method" else "right")
    for method, values in found["trained"].items():
        if swept:
            of_paper = next((text for at, text in PAPER_ALONE.items() if method == f"fedtrust-{at}"), "")
            table.add_row(method, *(_percent(values[part]) for part in ("selfish_alone", "honest_alone", "alone")), of_paper)
        else:
            gain = found["over_fedavg"].get(method)
            told = "" if gain is None else _percent(gain["difference"], signed=True)
            table.add_row(method, _percent(values["selfish_share"]), PAPER_SHARE.get(method, ""), told)
    Console().print(table)
    print("In brackets 95 % intervals over seeds.")


def _percent(found: Mapping[str, Any], signed: bool = False) -> str:
    if found["mean"] is None:
        return "–"
    sign = "+" if signed else ""
    shown = f"{100 * found['mean']:{sign}.1f} %"
    return shown if found["low"] is None else f"{shown} [{100 * found['low']:{sign}.1f}, {100 * found['high']:{sign}.1f}]"
