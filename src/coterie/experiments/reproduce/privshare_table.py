"""PrivShare against FedAvg, learning alone, Ditto and ClusterFL, at several budgets of privacy and with its parts taken away.

There is no table to reproduce: the source is a theory appendix, whose main text and experiments are missing. Setting
`budgets` compares at ε = 0.5, 1, 4 and ∞ for all that a client ever tells; `parts` takes PrivShare apart at ε = ∞: without
the soft update, with each way of mixing, with everybody together or apart, and with the printed readings of the threshold.

Fashion-MNIST by two-level Dirichlet: 60 clients in 5 clusters. A client is judged as it would use its model, on test samples
with its own label shares. Every method trains 10 clients a round but for `local`, where all train in every round.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coterie.experiments.metrics import Rounds
from coterie.experiments.reproduce import Options
from coterie.experiments.reproduce._beside import Figure, Setting, Sizes, play

EXPERIMENT: dict[str, Any] = {
    "dataset": "fashion-mnist",
    "partition": {"scheme": "two-level", "clusters": 5, "alpha": 0.5, "beta": 0.1, "min_size": 20},
    "clients": 60,
    "per_round": 10,
    "rounds": 60,
    "evaluate_every": 12,
    "test": "shares",
    "model": "mlp",
    "training": {"epochs": 2, "batch_size": 32, "lr": 0.05},
}
MOST = 2000.0
"""c_d: a round number above twice the mean volume, which is public (samples over clients)."""


def in_use(rounds: Rounds, sizes: Sizes) -> float:
    """Mean over clients, in the last evaluated round, of the model that each would use: its personal one if it has one."""
    told = rounds.dropna(subset=["client_accuracy"])
    if not len(told):
        return float("nan")
    shared = np.asarray(told["client_accuracy"].iloc[-1], np.float64)
    personal = told["client_accuracy_personal"].iloc[-1] if "client_accuracy_personal" in told else None
    own = np.full(len(shared), np.nan) if personal is None else np.asarray(personal, np.float64)
    return float(np.nanmean(np.where(np.isnan(own), shared, own)))


FIGURE = "client_accuracy_in_use"
MORE: dict[str, Figure] = {FIGURE: in_use}


def privshare(**settings: Any) -> dict[str, Any]:
    """PrivShare with some settings."""
    return {"method": "privshare", "most": MOST, **settings}


RIVALS: dict[str, dict[str, Any]] = {
    "fedavg": {},
    "local": {},
    "ditto": {},
    "cluster-fl": {},
}
SETTINGS = {
    "budgets": Setting(
        "Fashion-MNIST, two-level Dirichlet, 60 clients: accuracy on clients' own label shares",
        EXPERIMENT,
        {
            **RIVALS,
            **{f"privshare-{epsilon:g}": privshare(epsilon=epsilon) for epsilon in (0.5, 1.0, 4.0)},
            "privshare": privshare(),
        },
        FIGURE,
        seeds=3,
        more=MORE,
    ),
    "parts": Setting(
        "PrivShare without privacy, taken apart: accuracy on clients' own label shares",
        EXPERIMENT,
        {
            "privshare": privshare(),
            "no-soft-update": privshare(absent_after=None),
            "by-size": privshare(aggregator="by-size"),
            "fine": privshare(aggregator="fine"),
            "grand": privshare(structure="grand"),
            "grand-by-size": privshare(structure="grand", aggregator="by-size"),
            "alone": privshare(structure="alone"),
            "threshold-sum": privshare(variance="sum"),
            "threshold-per-coordinate": privshare(variance="per-coordinate"),
        },
        FIGURE,
        seeds=3,
        more=MORE,
    ),
}


def run(options: Options) -> Mapping[str, Any]:
    """Plays one setting."""
    return play("privshare-table", SETTINGS, options)
