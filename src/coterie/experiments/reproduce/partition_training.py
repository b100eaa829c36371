"""Figures 6.5–6.12 of the two-level thesis: whether training scores lower under its partition than under one-level ones.

Settings `fashion-k10` and `fashion-k5` are on Fashion-MNIST, reduced to 200 clients, 100 rounds and a small network;
`cifar-k10` and `cifar-k5` are on CIFAR-10 at the thesis's 1,000 clients and 300 rounds. K, the number of clusters in the
two-level partition, is 10 with 10 clients a round (Figures 6.5–6.8), or 5 with 20 (Figures 6.9–6.12). α is 0.1 and β 0.01,
against Exponential, Linear and a Dirichlet of α = 0.5. ClusterFL looks for K clusters.

Where the source is silent: models, local steps and what test accuracy is. Here all methods train the same network with batch
normalization, two epochs in batches of 32 at a rate of 0.05. Every method is judged in two ways, each time as the model that
a client would use: on *all* labels, by global test samples that are the same for every client, and on its *own*, by samples
that have the client's label shares. A client with one class needs to know one only, so the two can disagree. Two-level leaves
half of 1,000 clients with nothing; here every client receives ten samples at least, under Dirichlet too. FedL2P trains the
model in the first half of the rounds, and how it is tuned in the second; clients that were not chosen then count with the
model as it is. FedAvg-FT, the received model after one more epoch at home, is not in the thesis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from coterie.data.splits import Judged
from coterie.experiments import checkpoint, comparison, config, federations, metrics
from coterie.experiments import run as runs
from coterie.experiments.problems import BadInputError, Problem, unknown
from coterie.experiments.reproduce import Options
from coterie.experiments.reproduce._beside import Setting
from coterie.experiments.store import Store

PERSONAL = ("fed-bn", "fedl2p", "fedavg-ft")
"""Methods whose clients use a model of their own."""
WAYS: dict[str, Judged] = {"all": "same", "own": "shares"}
"""How clients are judged, and where their test samples come from."""
TWO_LEVEL = "two-level"
Values = dict[str, dict[str, list[float]]]
"""By method and way: one value a seed."""


def partitions(clusters: int) -> dict[str, dict[str, Any]]:
    """The thesis's partition, and those that it is compared to."""
    return {
        TWO_LEVEL: {"scheme": "two-level", "clusters": clusters, "alpha": 0.1, "beta": 0.01, "min_size": 10},
        "dirichlet": {"scheme": "dirichlet", "alpha": 0.5, "draws": "sample", "min_size": 10},
        "exponential": {"scheme": "exponential"},
        "linear": {"scheme": "linear"},
    }


@dataclass(frozen=True)
class Figures:
    """Four figures of the thesis, a method each."""

    setting: Setting
    clusters: int

    @classmethod
    def of(cls, what: str, clusters: int, paper: Mapping[str, str], **experiment: Any) -> Figures:
        """What is played under every partition; the source's figures are its two-level curve, then the range of the others."""
        training = {"epochs": 2, "batch_size": 32, "lr": 0.05}
        common = {"training": training, "per_round": {10: 10, 5: 20}[clusters], "client_test_size": 500, "evaluate_every": 10}
        tuned = {"epochs": 5, "meta_epochs": 1, "rate": 0.01}
        known: dict[str, dict[str, Any]] = {"cluster-fl": {"groups": clusters}, "fedl2p": tuned}
        methods = {label: known.get(label, {}) for label in ("fedavg", "cluster-fl", "fed-bn", "fedl2p", "fedavg-ft")}
        return cls(Setting(what, {**common, **experiment}, methods, "client_accuracy", paper, seeds=3), clusters)

    def asked(self, options: Options) -> dict[str, Any]:
        """The experiment; FedL2P's model is trained for half of its rounds, however many these are."""
        asked = {**self.setting.asked(options), "test": WAYS["own"]}
        asked["evaluate_every"] = min(asked["evaluate_every"], asked["rounds"])
        asked["rounds"] -= asked["rounds"] % asked["evaluate_every"]  # the last round is one that is evaluated
        for settings in asked["set"].values():
            if settings["method"] == "fedl2p":
                settings["pretrain"] = asked["rounds"] // 2
        return asked


FASHION = {"dataset": "fashion-mnist", "model": "mlp-bn", "clients": 200, "rounds": 100}
CIFAR = {"dataset": "cifar-10", "model": "cnn-bn", "clients": 1000, "rounds": 300}
K10 = {"fedavg": "32 against 40–41", "cluster-fl": "34 against –", "fed-bn": "43 against 57–60", "fedl2p": "42 against ≤ 56"}
K5 = {"fedavg": "46 against 53–56", "cluster-fl": "33 against ≤ 42", "fed-bn": "35 against 60", "fedl2p": "40 against 57"}
SETTINGS = {
    "fashion-k10": Figures.of("Fashion-MNIST, ten clusters, 10 of 200 clients a round", 10, K10, **FASHION),
    "fashion-k5": Figures.of("Fashion-MNIST, five clusters, 20 of 200 clients a round", 5, K5, **FASHION),
    "cifar-k10": Figures.of("CIFAR-10, ten clusters, 10 of 1,000 clients a round (Figures 6.5–6.8)", 10, K10, **CIFAR),
    "cifar-k5": Figures.of("CIFAR-10, five clusters, 20 of 1,000 clients a round (Figures 6.9–6.12)", 5, K5, **CIFAR),
}


def run(options: Options) -> dict[str, Any]:
    """Plays all methods under all partitions, a run each, and prints how they fare under the two-level one."""
    name = options.setting or next(iter(SETTINGS))
    if name not in SETTINGS:
        raise BadInputError([Problem("--setting", unknown("setting", name, SETTINGS))])
    figures = SETTINGS[name]
    folder = options.out or runs.free_name(Path("runs"), f"partition-training-{name}")
    if folder.exists():
        raise BadInputError([Problem("--out", f"{folder} is there already")])
    asked = figures.asked(options)
    found = {
        way: run_under({**asked, "partition": partition}, options, folder / way)
        for way, partition in partitions(figures.clusters).items()
    }
    told = told_of(found)
    show(figures.setting, told, folder)
    return {"setting": name, "rounds": asked["rounds"], "methods": told, "source": dict(figures.setting.paper)}


def run_under(asked: Mapping[str, Any], options: Options, folder: Path) -> Values:
    """Plays the methods under one partition; for each, how clients are judged after the last round, either way."""
    given = dict(asked)
    labels = given.pop("methods")
    played = comparison.compare(methods=labels, out=folder, jobs=options.jobs, on=options.on, watch=options.watch, **given)
    return {label: judged(played.store, label) for label in played.store.outline.labels}


def judged(store: Store, label: str) -> dict[str, list[float]]:
    """How the clients of a finished run fare with one method: the last checkpoint of each seed, judged either way."""
    experiment = config.load(store.experiment)
    word = "accuracy_personal" if store.methods[label] in PERSONAL else "accuracy"
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    dataset = federations.load(experiment, experiment.seeds[0])
    for cell in (one for one in store.outline.cells if one.method == label):
        _, saved = checkpoint.load(store.cell(cell))
        partition = federations.partition_of(store.partition(cell.seed), dataset)
        for way, test in WAYS.items():
            with federations.build(replace(experiment, test=test), dataset, partition, cell.seed, workers=1) as federation:
                federation.restore(saved["federation"])
                scores = federation.scores()
            assert scores is not None, "the last round is one that is evaluated"
            found[way].append(float(np.nanmean(scores.clients.get(word, scores.clients["accuracy"]))))
    return found


def told_of(found: Mapping[str, Values]) -> dict[str, Any]:
    """By method and way: accuracies under each partition, and how far two-level's is from the others' lowest and mean."""
    told: dict[str, Any] = {}
    for label in found[TWO_LEVEL]:
        told[label] = {}
        for way in WAYS:
            under = {name: np.array(values[label][way]) for name, values in found.items()}
            others = np.stack([values for name, values in under.items() if name != TWO_LEVEL])
            told[label][way] = {
                "under": {name: asdict(metrics.over_seeds(values)) for name, values in under.items()},
                "below_lowest": asdict(metrics.over_seeds(under[TWO_LEVEL] - others.min(axis=0))),
                "below_mean": asdict(metrics.over_seeds(under[TWO_LEVEL] - others.mean(axis=0))),
            }
    return told


def show(setting: Setting, told: Mapping[str, Any], folder: Path) -> None:
    """Prints a row a method and way of judging, beside what the source's figures end in."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    names = list(next(iter(told.values()))["all"]["under"])
    table = Table(title=setting.what, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for title in ("method", "judged on", *names, "two-level − lowest other"):
        table.add_column(title, justify="left" if title in ("method", "judged on") else "right")
    for label, ways in told.items():
        for way, one in ways.items():
            shown = [_percent(one["under"][name]) for name in names]
            table.add_row(label if way == "all" else "", way, *shown, _difference(one["below_lowest"]))
    console = Console()
    console.print(table)
    source = "; ".join(f"{label} {curves}" for label, curves in setting.paper.items())
    for line in (
        "Accuracy in %, ± a standard deviation over seeds; differences in points, with 95 % intervals, paired by seed.",
        f"The source, on CIFAR-10, two-level against the others: {source}.",
        f"The runs are in {folder}, each with its curves.",
    ):
        console.print(line, highlight=False)


def _percent(found: Mapping[str, Any]) -> str:
    return f"{100 * found['mean']:.1f}" + (f" ± {100 * found['sd']:.1f}" if found["sd"] is not None else "")


def _difference(found: Mapping[str, Any]) -> str:
    mean = f"{100 * found['mean']:+.1f}"
    return mean if found["low"] is None else f"{mean} [{100 * found['low']:+.1f}, {100 * found['high']:+.1f}]"
