"""Figures 6.5–6.12 of the two-level thesis: whether training scores lower under its partition than under one-level ones.

Settings `fashion-k10` and `fashion-k5` are on Fashion-MNIST, reduced to 200 clients, 100 rounds and a small network;
`cifar-k10` and `cifar-k5` are on CIFAR-10 at the thesis's 1,000 clients and 300 rounds. K, the number of clusters in the
two-level partition, is 10 with 10 clients a round (Figures 6.5–6.8), or 5 with 20 (Figures 6.9–6.12). α is 0.1 and β 0.01,
against Exponential, Linear and a Dirichlet of α = 0.5. ClusterFL looks for K clusters.

Where the source is silent: models, local steps and what test accuracy is. Here all methods train the same network with batch
normalization, two epochs in batches of 32 at a rate of 0.05. Every method is judged in two ways, each time as the model that
a client would use: on *all* labels, by global test samples that are the same for every client, and on its *own*, by samples
that have the client's label shares. A client with one class needs to know one only, so the two can disagree. Two-level leaves
half of 1,000 clients with nothing; here every client receives ten samples at least, under Dirichlet too. FedAvg-FT, the
received model after one more epoch at home, is not in the thesis. FedL2P, Figures 6.8 and 6.12, is not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coterie.experiments import comparison
from coterie.experiments.reproduce import Options
from coterie.experiments.reproduce._beside import Setting

PERSONAL = ("fed-bn", "fedavg-ft")
"""Methods whose clients use a model of their own."""
WAYS = {"all": "same", "own": "shares"}
"""How clients are judged, and where their test samples come from."""
TWO_LEVEL = "two-level"
Values = list[float | None]


def partitions(clusters: int) -> dict[str, dict[str, Any]]:
    """The thesis's partition, and those that it is compared to."""
    return {
        TWO_LEVEL: {"scheme": "two-level", "clusters": clusters, "alpha": 0.1, "beta": 0.01, "min_size": 10},
        "dirichlet": {"scheme": "dirichlet", "alpha": 0.5, "draws": "sample", "min_size": 10},
        "exponential": {"scheme": "exponential"},
        "linear": {"scheme": "linear"},
    }


def setting(what: str, clusters: int, paper: Mapping[str, str], **experiment: Any) -> Setting:
    """What is played under every partition; the paper's figures are its two-level curve, then the range of the others."""
    training = {"epochs": 2, "batch_size": 32, "lr": 0.05}
    per_round = {10: 10, 5: 20}[clusters]
    common = {"training": training, "per_round": per_round, "evaluate_every": 10, "client_test_size": 500}
    methods = {"fedavg": {}, "cluster-fl": {"groups": clusters}, "fed-bn": {}, "fedavg-ft": {}}
    return Setting(what, {**common, **experiment}, methods, "client_accuracy", paper, seeds=3)


FASHION = {"dataset": "fashion-mnist", "model": "mlp-bn", "clients": 200, "rounds": 100}
CIFAR = {"dataset": "cifar-10", "model": "cnn-bn", "clients": 1000, "rounds": 300}
K10 = {"fedavg": "32 against 40–41", "cluster-fl": "34 against –", "fed-bn": "43 against 57–60"}
K5 = {"fedavg": "46 against 53–56", "cluster-fl": "33 against 42", "fed-bn": "35 against 60"}
SETTINGS = {
    "fashion-k10": setting("Fashion-MNIST, ten clusters, 10 of 200 clients a round", 10, {}, **FASHION),
    "fashion-k5": setting("Fashion-MNIST, five clusters, 20 of 200 clients a round", 5, {}, **FASHION),
    "cifar-k10": setting("CIFAR-10, ten clusters, 10 of 1,000 clients a round (Figures 6.5–6.7)", 10, K10, **CIFAR),
    "cifar-k5": setting("CIFAR-10, five clusters, 20 of 1,000 clients a round (Figures 6.9–6.11)", 5, K5, **CIFAR),
}


def run_under(chosen: Setting, partition: Mapping[str, Any], options: Options, folder: Path) -> dict[str, dict[str, Values]]:
    """For each method, how clients are judged after the last round in either way: one value a seed."""
    found: dict[str, dict[str, Values]] = {}
    for way, test in WAYS.items():
        asked = {**chosen.asked(options), "partition": dict(partition), "test": test}
        if way == "all":  # what is judged the same way for all clients, one global model tells with all test samples
            asked["methods"] = asked["methods"]
        labels = asked.pop("methods")
        played = comparison.compare(methods=labels, out=folder / way, jobs=options.jobs, on=options.on, **asked)
        for label, one in played.document["methods"].items():
            figure = "client_accuracy_personal" if label in PERSONAL else "client_accuracy"
            found.setdefault(label, {})[way] = list(one[figure]["per_seed"])
    return found
