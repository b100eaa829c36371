"""Who leads: the best-equipped member of each coalition (FedTrust), or the strong few of a population (StackFed)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from coterie.roster import Ids, Roster

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Masters:
    """Elects a master in each coalition, and a stand-in for when it fails (thesis, Alg. 4 and Eq. 3.5).

    The score is a weighted sum of CPU, RAM, bandwidth and (1 − latency), each scaled to [0, 1] within the coalition; where all
    members have the same of something, it counts 0 for each. Ties go to smaller latency, then larger bandwidth, then smaller
    id. The stand-in has the second best score. The weights are not given in the source; here they are equal.

    >>> roster = Roster.of("abc", size=[1, 1, 1], cpu=[1, 4, 2], ram=[1, 8, 2], bandwidth=[5, 5, 9], latency=[9, 9, 1])
    >>> masters, stand_ins = Masters().elect(roster, [0, 0, 0])
    >>> masters.tolist(), stand_ins.tolist()
    ([2], [1])
    """

    cpu: float = 0.25
    ram: float = 0.25
    bandwidth: float = 0.25
    latency: float = 0.25

    def __post_init__(self) -> None:
        for name in ("cpu", "ram", "bandwidth", "latency"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ValueError(f"{name}: a weight must be a number from 0, not {getattr(self, name)!r}")

    def elect(self, roster: Roster, labels: ArrayLike) -> tuple[Ids, Ids]:
        """For each coalition its master and its stand-in, −1 where it has no second member. Label −1 is no coalition."""
        which = np.asarray(labels, np.intp)
        inside = np.flatnonzero(which >= 0)
        groups = which[inside]
        cpu, ram, bandwidth, latency = (
            scaled_within(roster[name][inside], groups) for name in ("cpu", "ram", "bandwidth", "latency")
        )
        score = self.cpu * cpu + self.ram * ram + self.bandwidth * bandwidth + self.latency * (1 - latency)
        order = np.lexsort((inside, -bandwidth, latency, -score.round(12), groups))
        sizes = np.bincount(groups)
        first = np.cumsum(sizes) - sizes
        second = order[np.minimum(first + 1, len(order) - 1)]
        return inside[order[first]], np.where(sizes > 1, inside[second], -1)


def scaled_within(values: ArrayLike, groups: NDArray[np.intp]) -> Floats:
    """Values scaled to [0, 1] within each group, 0 where all of a group are equal.

    >>> scaled_within([2, 4, 3, 7, 7], np.array([0, 0, 0, 1, 1])).tolist()
    [0.0, 1.0, 0.5, 0.0, 0.0]
    """
    column = np.asarray(values, np.float64)
    if not np.isfinite(column).all():
        raise ValueError("leaders: what is known of a device must be finite numbers")
    count = int(groups.max(initial=-1)) + 1
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, groups, column)
    np.maximum.at(high, groups, column)
    span = (high - low)[groups]
    return np.asarray(np.divide(column - low[groups], span, out=np.zeros(len(column)), where=span > 0))


@dataclass(frozen=True, eq=False)
class Strong:
    """Who of a population leads, and how they were found."""

    leaders: Ids
    how: Literal["cluster", "top fifth"]
    why: str = ""
    """Why the clustering was not followed."""


@dataclass(frozen=True)
class StrongCluster:
    """Finds leaders by clustering: the density cluster farthest from zero leads (thesis, Alg. 6).

    Features (CPU, RAM, bandwidth and the three data scores) are scaled to [0, 1] over all clients and clustered by DBSCAN; the
    cluster whose centroid has the largest norm leads. The source gives no settings. `eps` is by default the 90 % quantile of
    the distance to the min_samples-th point; the usual knee of that curve makes the strong few noise, so that the weak
    majority leads. Noise points stronger than the leaders' mean lead too. If no cluster is found, if more than a third
    would lead, or if leaders are weaker than the rest, the fifth with the largest norm leads instead, and the result says so.
    Above `sample` clients a random sample is clustered and the rest go to the nearest core point within `eps`. That is not for
    speed alone: among 10,000 points the usual distance is so small that the strong fall apart by how many classes they
    hold, and 0.16 to 0.64 of them were found, against 0.9 and more by samples of 1,000.
    """

    eps: float | None = None
    min_samples: int | None = None
    """None: the larger of 5 and ln n."""
    sample: int = 1_000
    most: float = 1 / 3
    """More leaders than this share are no leaders."""

    def __post_init__(self) -> None:
        if self.eps is not None and not 0 < self.eps < np.inf:
            raise ValueError(f"eps: must be a number above 0, not {self.eps!r}")
        if self.min_samples is not None and self.min_samples < 1:
            raise ValueError(f"min_samples: must be a whole number from 1, not {self.min_samples!r}")
        if self.sample < 1:
            raise ValueError(f"sample: must be a whole number from 1, not {self.sample!r}")

    def find(self, features: ArrayLike, rng: np.random.Generator) -> Strong:
        """The leaders of a population given as clients × features; more of a feature is better."""
        columns = np.asarray(features, np.float64)
        if columns.ndim != 2 or not len(columns):
            raise ValueError(f"features: must be clients × features with at least one client, not {columns.shape}")
        together = np.zeros(len(columns), np.intp)
        points = np.column_stack([scaled_within(column, together) for column in columns.T])
        norm = np.linalg.norm(points, axis=1)
        labels = self.clusters(points, rng)
        count = int(labels.max(initial=-1)) + 1
        if count == 0:
            return _top_fifth(norm, "no cluster was found")
        centroids = [np.linalg.norm(points[labels == cluster].mean(axis=0)) for cluster in range(count)]
        leads = labels == int(np.argmax(centroids))
        leads |= (labels < 0) & (norm > norm[leads].mean())
        if leads.mean() > self.most:
            return _top_fifth(norm, f"{leads.mean():.0%} of the clients would lead")
        if norm[leads].mean() < norm[~leads].mean():
            return _top_fifth(norm, "the leaders would be weaker than the others")
        return Strong(np.flatnonzero(leads), "cluster")

    def clusters(self, points: Floats, rng: np.random.Generator) -> NDArray[np.intp]:
        """DBSCAN's labels, −1 for noise. A point that is no core is with the nearest core within `eps`."""
        chosen = points
        if len(points) > self.sample:
            chosen = points[np.sort(rng.choice(len(points), self.sample, replace=False))]
        near = self.min_samples or max(5, round(np.log(len(chosen))))
        eps = self.eps or _usual_distance(chosen, near)
        cores = chosen[cKDTree(chosen).query_ball_point(chosen, eps, return_length=True) >= near]
        if not len(cores):
            return np.full(len(points), -1, np.intp)
        tree = cKDTree(cores)
        one, other = tree.query_pairs(eps, output_type="ndarray").T
        touching = sparse.coo_array((np.ones(len(one), bool), (one, other)), shape=(len(cores), len(cores)))
        _, groups = connected_components(touching, directed=False)
        distance, nearest = tree.query(points, distance_upper_bound=np.nextafter(eps, np.inf))
        return np.where(np.isfinite(distance), np.append(groups, -1)[nearest], -1).astype(np.intp)


def _usual_distance(points: Floats, near: int) -> float:
    """The distance within which nine tenths of the points have `near` points, themselves included."""
    distance, _ = cKDTree(points).query(points, k=[min(near, len(points))])
    return max(float(np.quantile(distance, 0.9)), 1e-9)


def _top_fifth(norm: Floats, why: str) -> Strong:
    count = int(np.ceil(len(norm) / 5))
    return Strong(np.sort(np.argsort(-norm, kind="stable")[:count]), "top fifth", why)
