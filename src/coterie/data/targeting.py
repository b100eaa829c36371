"""Finds the concentrations that make a partition as heterogeneous as asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie import seeds
from coterie.data.clusters import clusters_of
from coterie.data.dataset import Dataset
from coterie.data.features import features_of
from coterie.data.heterogeneity import Heterogeneity, measure
from coterie.data.partition import Partition
from coterie.data.scheme import Scheme
from coterie.data.two_level import TwoLevel

KNOBS = ("alpha", "beta")
TARGETS = ("entropy", "sparsity", "js", "size_gini")
LOW, HIGH = -3.0, 3.0
"""Concentrations from 0.001 to 1,000, as powers of ten."""
STARTS = 2
"""Best points of the grid from which the search goes on."""
JITTERS, SPREAD = 80, 0.15
"""Last tries around the best point, and how far they lie from it: measures of one seed are rugged where points are near."""


@dataclass(frozen=True, eq=False)
class Aim:
    """What was found, and how near it comes."""

    scheme: Scheme
    """The scheme with the concentrations found; its `split` with the same clients and seed gives `partition`."""
    partition: Partition
    found: Heterogeneity
    misses: Mapping[str, float]
    """For each target what was found minus what was asked for."""
    reached: bool
    """Whether every miss is within the tolerance."""
    tries: int


def aim(
    targets: Mapping[str, float],
    dataset: Dataset,
    clients: int,
    scheme: Scheme | None = None,
    seed: int = 0,
    tolerance: float = 0.01,
) -> Aim:
    """Searches α, and β where the scheme has one, for measures such as `{"entropy": 1.2, "size_gini": 0.3}`.

    A coarse grid of powers of ten, then Nelder–Mead on the logarithms from the best points, then random points around the
    best, all with one seed, until every measure is within `tolerance` of its target, counted in its own range (entropy
    ln C, sparsity C − 1, distance √ln 2, Gini 1). Two concentrations cannot reach every pair of targets: look at `misses`.

    >>> import coterie.data as data
    >>> found = aim({"entropy": 1.2}, data.load("digits"), 30, data.dirichlet(min_size=0), seed=1)
    >>> found.reached, abs(found.found.entropy - 1.2) < 0.024
    (True, True)
    """
    scheme = TwoLevel() if scheme is None else scheme
    knobs = [name for name in KNOBS if hasattr(scheme, name)]
    if not knobs:
        raise ValueError(f"target: '{scheme.name}' has no alpha or beta to search; use two-level or dirichlet")
    search = _Search(_checked(targets, dataset), dataset, clients, _prepared(scheme, dataset, seed), knobs, seed, tolerance)
    best = search.run()
    final = replace(scheme, **_settings(knobs, best.point))
    partition = replace(best.partition, settings=final.settings)
    found = measure(partition, dataset)
    missed = {name: getattr(found, name) - value for name, value in targets.items()}
    return Aim(final, partition, found, missed, best.miss <= tolerance, search.tries)


@dataclass(frozen=True, eq=False)
class _Try:
    point: NDArray[np.float64]
    partition: Partition
    measures: Heterogeneity
    miss: float
    """The largest miss, in its measure's range."""
    cost: float


@dataclass(eq=False)
class _Search:
    targets: Mapping[str, tuple[float, float]]
    dataset: Dataset
    clients: int
    scheme: Scheme
    knobs: list[str]
    seed: int
    tolerance: float
    tries: int = 0
    seen: list[_Try] = field(default_factory=list)

    @property
    def best(self) -> _Try:
        return min(self.seen, key=lambda one: one.cost)

    def run(self) -> _Try:
        from scipy.optimize import minimize

        grid = np.arange(LOW, HIGH + 0.1, 1.0 if len(self.knobs) > 1 else 0.5)
        for point in sorted(product(grid, repeat=len(self.knobs)), key=lambda point: np.abs(point).sum()):
            if self.cost(np.array(point)) == 0:
                return self.best
        for start in [one.point for one in sorted(self.seen, key=lambda one: one.cost)[:STARTS]]:
            minimize(
                self.cost,
                start,
                method="Nelder-Mead",
                bounds=[(LOW, HIGH)] * len(start),
                callback=self._enough,
                options={"initial_simplex": np.vstack([start, start + 0.4 * np.eye(len(start))]), "maxfev": 30, "xatol": 1e-3},
            )
            if self.best.miss <= self.tolerance:
                return self.best
        for step in seeds.rng(self.seed, "targeting").normal(0, SPREAD, (JITTERS, len(self.knobs))):
            if self.cost(np.clip(self.best.point + step, LOW, HIGH)) == 0:
                break
        return self.best

    def cost(self, point: NDArray[np.float64]) -> float:
        self.tries += 1
        partition = replace(self.scheme, **_settings(self.knobs, point)).split(self.dataset, self.clients, self.seed)
        found = measure(partition, self.dataset, pairs="js" in self.targets)
        misses = np.array([(getattr(found, name) - value) / span for name, (value, span) in self.targets.items()])
        largest = float(np.abs(misses).max())
        cost = 0.0 if largest <= self.tolerance else float((misses**2).sum())
        self.seen = sorted([*self.seen, _Try(point.copy(), partition, found, largest, cost)], key=lambda one: one.cost)[:STARTS]
        return cost

    def _enough(self, intermediate: Any) -> None:
        if self.best.miss <= self.tolerance:
            raise StopIteration


def _settings(knobs: list[str], point: NDArray[np.float64]) -> dict[str, float]:
    return {name: float(f"{10**power:.4g}") for name, power in zip(knobs, np.clip(point, LOW, HIGH).tolist(), strict=True)}


def _checked(targets: Mapping[str, float], dataset: Dataset) -> dict[str, tuple[float, float]]:
    """For each target its value and its range."""
    if not targets or not dataset.classes:
        raise ValueError(f"target: give at least one of {', '.join(TARGETS)}, on data with labels")
    spans = dict(zip(TARGETS, (np.log(dataset.classes), dataset.classes - 1.0, np.sqrt(np.log(2)), 1.0), strict=True))
    for name, value in targets.items():
        if name not in spans:
            raise ValueError(f"target: there is no measure '{name}'; allowed: {', '.join(TARGETS)}")
        if not 0 <= value <= spans[name]:
            raise ValueError(f"target: {name} must be from 0 to {spans[name]:.4g} on '{dataset.name}', not {value!r}")
    return {name: (float(value), float(spans[name])) for name, value in targets.items()}


def _prepared(scheme: Scheme, dataset: Dataset, seed: int) -> Scheme:
    """A two-level scheme whose clusters are found once, since they do not depend on α and β."""
    if not isinstance(scheme, TwoLevel):
        return scheme
    rows = features_of(dataset, scheme.features)
    labels = clusters_of(rows, scheme.clusters, seeds.rng(seed, "partition", scheme.name), scheme.clusterer)
    return replace(scheme, features=rows[:, :1], clusterer=lambda _: labels)
