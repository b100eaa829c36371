"""Figures of merit: pure functions on the table of rounds, per seed, over seeds, and paired by seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from coterie import seeds

Rounds = pd.DataFrame
"""The rounds of one method and one seed, in order."""
Metric = Callable[[Rounds], float]

LEVEL = 0.95


@dataclass(frozen=True)
class Summary:
    """One figure over seeds. Where a seed has no value (a target never reached) mean and interval have none."""

    per_seed: tuple[float | None, ...]
    mean: float | None
    sd: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Paired:
    """How a method differs from the baseline on the same seeds."""

    difference: Summary
    p: float | None
    """Two-sided, of a paired t-test."""
    p_holm: float | None = None
    """Corrected for the number of methods that were compared (Holm, 1979)."""


def last_accuracy(rounds: Rounds) -> float:
    """Accuracy on the global test set after the last round that was evaluated."""
    return _last(rounds["accuracy"].dropna().to_numpy())


def last_fifth(rounds: Rounds) -> float:
    """Mean accuracy over the last fifth of the rounds, which wobbles less than the last."""
    return _mean(rounds["accuracy"].iloc[-_fifth(rounds) :].dropna().to_numpy())


def area(rounds: Rounds) -> float:
    """Area under the curve of accuracy against rounds, as a mean height: high for methods that learn early."""
    seen = rounds[["round", "accuracy"]].dropna()
    if len(seen) < 2:
        return _mean(seen["accuracy"].to_numpy())
    span = float(seen["round"].iloc[-1] - seen["round"].iloc[0])
    return float(np.trapezoid(seen["accuracy"], seen["round"]) / span)


def loss(rounds: Rounds) -> float:
    """Loss on the global test set after the last round that was evaluated."""
    return _last(rounds["loss"].dropna().to_numpy())


def client_accuracy(rounds: Rounds) -> float:
    """Mean over clients of the accuracy on their own test data, every client alike; after the last evaluated round.

    Clients without test data of their own are left out.
    """
    return _mean(clients(rounds))


def trained_accuracy(rounds: Rounds) -> float:
    """The same before mixing, after local training; only where models are personal."""
    return _mean(clients(rounds, "client_accuracy_trained"))


def personal_accuracy(rounds: Rounds) -> float:
    """The same of the models that clients keep beside the one they follow; only where a backbone makes such."""
    return _mean(clients(rounds, "client_accuracy_personal"))


def tuned_accuracy(rounds: Rounds) -> float:
    """The same after one more epoch at each client, on a copy; see `fine_tuned` of an experiment."""
    return _mean(clients(rounds, "client_accuracy_tuned"))


def on_common(reading: str = "") -> Callable[[Rounds], float]:
    """The same on test samples that all clients have in common, after a `reading`: "", "_tuned" or "_trained"."""
    return lambda rounds: _mean(clients(rounds, f"client_accuracy_global{reading}"))


def weighted_accuracy(rounds: Rounds, sizes: ArrayLike) -> float:
    """Mean over clients weighted by the training samples that they hold."""
    found = clients(rounds, keep=True)
    seen = ~np.isnan(found)
    weights = np.asarray(sizes, dtype=np.float64)[seen] if seen.any() else np.empty(0)
    return float(np.average(found[seen], weights=weights)) if weights.sum() > 0 else np.nan


def worst_decile(rounds: Rounds) -> float:
    """Mean accuracy of the tenth of the clients (at least one) for whom the model works worst."""
    found = np.sort(clients(rounds))
    return _mean(found[: max(1, len(found) // 10)])


def jain(rounds: Rounds) -> float:
    """Jain's index of clients' accuracies: 1 when all fare alike, 1/n when one has all (Jain, Chiu and Hawe, 1984)."""
    return jain_index(clients(rounds))


def jain_index(values: ArrayLike) -> float:
    """(Σ x)² / (n Σ x²); 1 where all values are 0.

    >>> jain_index([1, 1, 1, 1]), jain_index([1, 0, 0, 0])
    (1.0, 0.25)
    """
    x = np.asarray(values, dtype=np.float64)
    if not len(x):
        return np.nan
    squares = float(len(x) * (x**2).sum())
    return float(x.sum() ** 2 / squares) if squares > 0 else 1.0


def rounds_to(rounds: Rounds, target: float) -> float:
    """The first round whose accuracy reaches the target; NaN if none does."""
    return _first(rounds, target, rounds["round"].to_numpy(dtype=np.float64))


def bytes_to(rounds: Rounds, target: float) -> float:
    """All bytes that crossed until the target was first reached."""
    return _first(rounds, target, total_bytes(rounds).cumsum())


def accuracy_within(rounds: Rounds, budget: float, window: int = 10) -> float:
    """Mean accuracy of the last evaluated rounds (ten, or all there are) that were over when a budget of bytes was spent.

    NaN if not even the first round was. Methods that ask more questions get fewer rounds for the same budget.
    """
    paid = total_bytes(rounds).cumsum() <= budget
    return _mean(rounds["accuracy"].to_numpy(dtype=np.float64)[paid & rounds["accuracy"].notna().to_numpy()][-window:])


def accuracy_between(rounds: Rounds, first: int, last: int) -> float:
    """Mean accuracy of some rounds, both ends included; NaN if they were not all played."""
    return _mean(_between(rounds, first, last))


def swing(rounds: Rounds, first: int, last: int) -> float:
    """Standard deviation of the accuracy over some rounds, both ends included; NaN if they were not all played."""
    seen = _between(rounds, first, last)
    return float(seen.std(ddof=1)) if len(seen) > 1 else np.nan


def seconds_to(rounds: Rounds, target: float) -> float:
    """Simulated seconds until the target was first reached."""
    return _first(rounds, target, rounds["simulated_seconds"].to_numpy().cumsum())


def total_bytes(rounds: Rounds) -> NDArray[np.int64]:
    """Bytes of each round in all directions."""
    return rounds[["bytes_up", "bytes_down", "bytes_between"]].sum(axis=1).to_numpy()


def total(column: str) -> Metric:
    """The sum of a column over all rounds."""
    return lambda rounds: float(rounds[column].sum())


def mean(column: str) -> Metric:
    """The mean of a column over all rounds."""
    return lambda rounds: _mean(rounds[column].to_numpy())


def unanswered(rounds: Rounds) -> float:
    """The share of asks that brought no usable reply."""
    asked = int(rounds["chosen"].map(len).sum())
    return 1 - int(rounds["answered"].map(len).sum()) / asked if asked else np.nan


def clients(rounds: Rounds, column: str = "client_accuracy", keep: bool = False) -> NDArray[np.float64]:
    """The per-client values of the last evaluated round; without those that have none, unless told to keep them."""
    if column not in rounds or not rounds[column].notna().any():
        return np.empty(0)
    values = np.asarray(rounds[column].dropna().iloc[-1], dtype=np.float64)
    return values if keep else values[~np.isnan(values)]


def over_seeds(values: ArrayLike) -> Summary:
    """Mean, standard deviation and a 95 % t-interval.

    >>> over_seeds([0.5, 0.75]).mean, over_seeds([3, float("nan")]).per_seed
    (0.625, (3.0, None))
    """
    x = np.asarray(values, dtype=np.float64)
    per_seed = tuple(None if np.isnan(value) else float(value) for value in x)
    if not len(x) or np.isnan(x).any():
        return Summary(per_seed, None, None, None, None)
    center = float(x.mean())
    if len(x) == 1:
        return Summary(per_seed, center, None, None, None)
    sd = float(x.std(ddof=1))
    reach = float(stats.t.ppf((1 + LEVEL) / 2, len(x) - 1)) * sd / np.sqrt(len(x))
    return Summary(per_seed, center, sd, center - reach, center + reach)


def paired(values: Mapping[str, Sequence[float]], baseline: str) -> dict[str, Paired]:
    """Differences to the baseline seed by seed, with Holm's correction over the methods."""
    base = np.asarray(values[baseline], dtype=np.float64)
    found = {
        name: (over_seeds(difference := np.asarray(each, dtype=np.float64) - base), _p(difference))
        for name, each in values.items()
        if name != baseline
    }
    corrected = holm({name: p for name, (_, p) in found.items() if p is not None})
    return {name: Paired(difference, p, corrected.get(name)) for name, (difference, p) in found.items()}


@dataclass(frozen=True)
class Ratio:
    """How many times as much a method needs as the baseline on the same seeds."""

    mean: float
    """Geometric."""
    low: float
    high: float
    """Ends of the 95 % bootstrap interval over seeds."""
    won: int
    """Seeds with less than the baseline."""
    seeds: int


def ratio(values: ArrayLike, baseline: ArrayLike, never: ArrayLike = np.nan, draws: int = 10_000) -> Ratio | None:
    """The geometric mean of ratios seed by seed, with a bootstrap interval over seeds; dice are fixed.

    What was never reached (NaN) counts as `never`; without that, or where both never do, there is no ratio.

    >>> found = ratio([10, 20], [20, 80])
    >>> round(found.mean, 3), found.won, found.seeds
    (0.354, 2, 2)
    """
    pairs = [np.where(np.isnan(x), never, x) for x in (np.asarray(values, np.float64), np.asarray(baseline, np.float64))]
    logs = np.log(pairs[0]) - np.log(pairs[1])
    if not len(logs) or np.isnan(logs).any():
        return None
    drawn = seeds.rng(0, "bootstrap").integers(len(logs), size=(draws, len(logs)))
    edge = 100 * (1 - LEVEL) / 2
    low, high = np.exp(np.percentile(logs[drawn].mean(axis=1), [edge, 100 - edge]))
    return Ratio(float(np.exp(logs.mean())), float(low), float(high), int((logs < 0).sum()), len(logs))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's step-down correction (1979).

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'c': 0.06, 'b': 0.06}
    """
    corrected, floor = {}, 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        floor = max(floor, min(1.0, (len(p_values) - rank) * p))
        corrected[name] = floor
    return corrected


def _p(difference: NDArray[np.float64]) -> float | None:
    """None where there is nothing to test: one seed, or a seed without a value."""
    if len(difference) < 2 or np.isnan(difference).any():
        return None
    if np.ptp(difference) == 0:
        return 1.0 if difference[0] == 0 else 0.0
    return float(stats.ttest_1samp(difference, 0).pvalue)


def _first(rounds: Rounds, target: float, scale: NDArray[np.float64]) -> float:
    reached = np.flatnonzero(rounds["accuracy"].to_numpy(dtype=np.float64) >= target)
    return float(scale[reached[0]]) if len(reached) else np.nan


def _between(rounds: Rounds, first: int, last: int) -> NDArray[np.float64]:
    some = rounds[rounds["round"].between(first, last)]
    return some["accuracy"].dropna().to_numpy() if len(some) == last - first + 1 else np.empty(0)


def _fifth(rounds: Rounds) -> int:
    return -(-len(rounds) // 5)


def _last(values: NDArray[np.float64]) -> float:
    return float(values[-1]) if len(values) else np.nan


def _mean(values: NDArray[np.float64]) -> float:
    return float(np.mean(values)) if len(values) else np.nan
