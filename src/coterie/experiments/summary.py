"""A run in figures: what `compare --json` writes, and the tables that people read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from coterie.experiments import metrics
from coterie.experiments.metrics import Metric, Rounds, Summary
from coterie.experiments.store import Outline

Sizes = Mapping[int, Any]
"""For each seed how many samples each client holds."""
PAIRED = (
    "loss",
    "final_accuracy",
    "last_fifth_accuracy",
    "client_accuracy",
    "client_accuracy_trained",
    "client_accuracy_tuned",
    "worst_decile",
    "area_under_curve",
    "rounds_to_target",
    "accuracy_within_budget",
)
"""Figures in which methods are compared to the baseline."""

PLAIN: dict[str, Metric] = {
    "final_accuracy": metrics.last_accuracy,
    "last_fifth_accuracy": metrics.last_fifth,
    "area_under_curve": metrics.area,
    "loss": metrics.loss,
    "client_accuracy": metrics.client_accuracy,
    "client_accuracy_trained": metrics.trained_accuracy,
    "client_accuracy_tuned": metrics.tuned_accuracy,
    "client_accuracy_personal": metrics.personal_accuracy,
    "client_accuracy_global": metrics.on_common(),
    "client_accuracy_global_trained": metrics.on_common("_trained"),
    "client_accuracy_global_tuned": metrics.on_common("_tuned"),
    "worst_decile": metrics.worst_decile,
    "jain": metrics.jain,
    "unanswered": metrics.unanswered,
}
TARGETS: dict[str, Callable[[Rounds, float], float]] = {
    "rounds_to_target": metrics.rounds_to,
    "bytes_to_target": metrics.bytes_to,
    "seconds_to_target": metrics.seconds_to,
}
TOTALS = ("bytes_up", "bytes_down", "bytes_between", "evaluations", "epsilon", "simulated_seconds", "lost", "rejected")
"""Columns whose sum over a run is reported, as the mean over seeds."""


def document(outline: Outline, rounds: pd.DataFrame, sizes: Sizes) -> dict[str, Any]:
    """All figures of a run as JSON holds them; NaN is null."""
    budget = outline.byte_budget or thriftiest(rounds)
    figures = {label: _figures(outline, _of(rounds, label), sizes, budget) for label in outline.labels}
    return {
        "methods": {
            label: _shown(rounds[rounds["method"] == label], outline.clients, found) for label, found in figures.items()
        },
        "baseline": outline.baseline,
        "paired": _paired(outline, figures),
        "seeds": list(outline.seeds),
        "target": outline.target,
        "byte_budget": budget,
        "complete": complete(outline, rounds),
        "trace": _trace(rounds),
    }


def complete(outline: Outline, rounds: pd.DataFrame) -> bool:
    """Whether every cell came to its end."""
    found = {(str(method), int(str(seed))): one for (method, seed), one in rounds.groupby(["method", "seed"])}
    return all((cell.method, cell.seed) in found for cell in outline.cells) and all(
        outline.over(len(one), outline.reached(one["accuracy"])) for one in found.values()
    )


def table(outline: Outline, rounds: pd.DataFrame, sizes: Sizes) -> pd.DataFrame:
    """Means over seeds: a row a method, a column a figure."""
    methods = document(outline, rounds, sizes)["methods"]
    means = {
        label: {name: one["mean"] if isinstance(one, dict) else one for name, one in found.items()}
        for label, found in methods.items()
    }
    return pd.DataFrame.from_dict(means, orient="index").rename_axis("method")


def thriftiest(rounds: pd.DataFrame) -> float | None:
    """The bytes that whoever spent least spent in all; None before the first round."""
    spent = rounds[["bytes_up", "bytes_down", "bytes_between"]].sum(axis=1).groupby([rounds["method"], rounds["seed"]]).sum()
    return float(spent.min()) if len(spent) else None


def _figures(outline: Outline, by_seed: dict[int, Rounds], sizes: Sizes, budget: float | None) -> dict[str, Summary]:
    """Every figure of one method over the seeds."""
    target = outline.target
    found = {name: [metric(one) for one in by_seed.values()] for name, metric in PLAIN.items()}
    found["client_accuracy_weighted"] = [metrics.weighted_accuracy(one, sizes[seed]) for seed, one in by_seed.items()]
    for name, metric in TARGETS.items():
        found[name] = [np.nan if target is None else metric(one, target) for one in by_seed.values()]
    found["accuracy_within_budget"] = [metrics.accuracy_within(one, budget or 0) for one in by_seed.values()]
    return {name: metrics.over_seeds(values) for name, values in found.items()}


def _shown(rounds: Rounds, clients: int, figures: Mapping[str, Summary]) -> dict[str, Any]:
    runs = max(rounds["seed"].nunique(), 1)
    totals = {name: float(rounds[name].sum()) / runs for name in TOTALS}
    seconds = float(rounds["seconds"].mean()) if len(rounds) else None
    asked = {
        "asked": float(rounds["chosen"].map(len).sum()) / runs,
        "available_share": float(rounds["available"].mean()) / clients if len(rounds) else None,
    }
    return {**{name: asdict(one) for name, one in figures.items()}, **totals, **asked, "seconds_per_round": seconds}


def _paired(outline: Outline, figures: Mapping[str, Mapping[str, Summary]]) -> dict[str, Any]:
    """For each figure, each method's difference to the baseline."""
    if len({len(found["final_accuracy"].per_seed) for found in figures.values()}) > 1:
        return {}
    found = {}
    for name in PAIRED:
        values = {label: [np.nan if v is None else v for v in one[name].per_seed] for label, one in figures.items()}
        found[name] = {label: asdict(one) for label, one in metrics.paired(values, outline.baseline).items()}
    return found


def _trace(rounds: pd.DataFrame) -> list[dict[str, Any]]:
    columns = zip(*(rounds[name] for name in ("method", "seed", "round", "chosen_keys", "chosen", "accuracy")), strict=True)
    return [
        {
            "method": method,
            "seed": int(seed),
            "round": int(t),
            "chosen": [int(client) for client in chosen],
            "chosen_keys": list(keys),
            "accuracy": None if np.isnan(accuracy) else float(accuracy),
        }
        for method, seed, t, keys, chosen, accuracy in columns
    ]


def _of(rounds: pd.DataFrame, label: str) -> dict[int, Rounds]:
    own = rounds[rounds["method"] == label]
    return {int(str(seed)): one.sort_values("round") for seed, one in own.groupby("seed")}
