"""Points into exactly P groups by the eigenvectors of their affinity graph.

Up to `dense_limit` distinct points the graph is whole. Above, every point is tied to its ten nearest among some hundred
random landmarks, and two points are alike as far as they share landmarks: an approximation, in O(K · landmarks · D) time
and never K × K memory (landmark-based spectral clustering; Chen and Cai, 2011).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy import linalg, sparse

from coterie.coalitions.k_means import Points, Weights, k_means, squared_distances

Affinity = Literal["rbf", "raw", "cosine", "neighbors"]
Labels = NDArray[np.intp]

NEIGHBORS = 10
"""Nearest neighbors, or landmarks, that a point is tied to."""
CHUNK = 4096
"""Points whose distances are held at once."""


def spectral_clustering(
    points: Points,
    groups: int,
    rng: np.random.Generator,
    affinity: Affinity = "rbf",
    gamma: float | None = None,
    dense_limit: int = 2000,
) -> Labels:
    """Returns for each point the number of its group: exactly min(groups, points) of them, numbered by their first member.

    Affinities: `rbf` is exp(−γ‖x̃ − ỹ‖²) of points scaled to length 1, `raw` the same of points as they are, `cosine`
    (1 + cos)/2, `neighbors` 1 for the ten nearest of either and 0 else. γ is by default one over the median squared
    distance (`rbf`) or 1 (`raw`). Points that coincide are one point of more weight, so they stay together unless there
    are fewer distinct points than groups. Where clustering leaves fewer groups than asked for, the largest is halved, in
    the order of its members, until there are enough.
    """
    points = np.asarray(points, dtype=np.float64)
    if affinity != "raw":
        points = normalized(points)
    same, first = coinciding(points)
    labels = np.arange(len(first))
    if len(first) > groups:
        weights = np.bincount(same).astype(np.float64)
        dense = len(first) <= dense_limit
        embed = _by_graph if dense else _by_landmarks
        positions = embed(points[first], weights, groups, rng, affinity, gamma)
        labels = halved(k_means(positions, groups, rng, weights, restarts=10 if dense else 1), groups)
    return halved(labels[same], min(groups, len(points)))


def normalized(points: Points) -> Points:
    """Points scaled to length 1; one at 0 stays there."""
    length = np.sqrt(np.einsum("nd,nd->n", points, points))
    return points / np.where(length > 0, length, 1)[:, np.newaxis]


def coinciding(points: Points, tolerance: float = 1e-9) -> tuple[Labels, NDArray[np.intp]]:
    """Numbers distinct points: for each point the number of its place, and for each place its first point.

    >>> coinciding(np.array([[1.0], [2.0], [1.0 + 1e-12]]))[0].tolist()
    [0, 1, 0]
    """
    key = points @ np.random.Generator(np.random.PCG64(0)).standard_normal(points.shape[1])
    order = np.argsort(key, kind="stable")
    near = tolerance * max(1.0, float(np.abs(points).max(initial=0)))
    new = np.ones(len(points), dtype=bool)
    close = np.flatnonzero(np.diff(key[order]) <= 10 * near * np.sqrt(points.shape[1]))
    for some in np.array_split(close, len(close) // CHUNK + 1):
        new[some + 1] = (np.abs(points[order[some + 1]] - points[order[some]]) > near).any(axis=1)
    place = np.empty(len(points), dtype=np.intp)
    place[order] = np.cumsum(new) - 1
    return in_order_of_appearance(place)


def in_order_of_appearance(labels: Labels) -> tuple[Labels, NDArray[np.intp]]:
    """Renumbers groups by their first member, and returns the first members."""
    _, first, number = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return rank[number], np.sort(first)


def halved(labels: Labels, groups: int) -> Labels:
    """Halves the largest group, in the order of its members, until there are as many as asked for."""
    labels, first = in_order_of_appearance(labels)
    for number in range(len(first), groups):
        members = np.flatnonzero(labels == np.bincount(labels).argmax())
        labels[members[(len(members) + 1) // 2 :]] = number
    return in_order_of_appearance(labels)[0]


def _by_graph(
    points: Points, weights: Weights, groups: int, rng: np.random.Generator, affinity: Affinity, gamma: float | None
) -> Points:
    """The top eigenvectors of the random walk on the whole graph, whose row-normalized weights are FedCVR-Bolt's Eq. 4."""
    alike = _affinities(points, affinity, gamma)
    scale = 1 / np.sqrt(alike @ weights)
    root = np.sqrt(weights) * scale
    count = len(points)
    _, vectors = linalg.eigh(root[:, np.newaxis] * alike * root, subset_by_index=[count - groups, count - 1])
    return np.asarray(vectors * (scale / np.sqrt(weights))[:, np.newaxis])


def _affinities(points: Points, affinity: Affinity, gamma: float | None) -> Float[np.ndarray, "points points"]:
    if affinity == "cosine":
        return np.asarray((1 + points @ points.T) / 2)
    squares = squared_distances(points, points)
    np.fill_diagonal(squares, 0)
    if affinity == "neighbors":
        nearest = np.argpartition(squares, min(NEIGHBORS, len(points) - 1), axis=1)[:, : NEIGHBORS + 1]
        tied = np.zeros_like(squares)
        np.put_along_axis(tied, nearest, 1.0, axis=1)
        return np.asarray(np.maximum(tied, tied.T))
    return np.asarray(np.exp(-_gamma(squares, affinity, gamma) * squares))


def _gamma(squares: Float[np.ndarray, "points others"], affinity: Affinity, gamma: float | None) -> float:
    if gamma is not None or affinity == "raw":
        return 1.0 if gamma is None else gamma
    return 1 / float(np.median(squares[squares > 0]))


def _by_landmarks(
    points: Points, weights: Weights, groups: int, rng: np.random.Generator, affinity: Affinity, gamma: float | None
) -> Points:
    """The same of the graph Z Λ⁻¹ Zᵀ, where the rows of Z tie points to landmarks and sum to 1, and Λ sums its columns."""
    landmarks = points[rng.choice(len(points), min(len(points), max(500, 5 * groups)), replace=False)]
    ties = sparse.vstack(list(_ties(points, landmarks, affinity, gamma)), format="csr")
    mass = ties.T @ weights
    scaled = ties @ sparse.diags_array(1 / np.sqrt(np.where(mass > 0, mass, 1)))
    inner = (scaled.T @ sparse.diags_array(weights) @ scaled).toarray()
    values, vectors = linalg.eigh(inner, subset_by_index=[len(inner) - groups, len(inner) - 1])
    return np.asarray(scaled @ (vectors / np.sqrt(np.maximum(values, 1e-12))))


def _ties(points: Points, landmarks: Points, affinity: Affinity, gamma: float | None) -> Iterator[sparse.csr_array]:
    few = min(NEIGHBORS, len(landmarks))
    for start in range(0, len(points), CHUNK):
        squares = squared_distances(points[start : start + CHUNK], landmarks)
        if gamma is None:
            gamma = _gamma(squares, affinity, None)
        nearest = np.argpartition(squares, few - 1, axis=1)[:, :few]
        near = np.take_along_axis(squares, nearest, axis=1)
        if affinity == "neighbors":
            tied = np.ones_like(near)
        elif affinity == "cosine":
            tied = np.maximum(1 - near / 4, 1e-12)
        else:
            tied = np.exp(-gamma * (near - near.min(axis=1, keepdims=True)))
        tied /= tied.sum(axis=1, keepdims=True)
        rows = np.repeat(np.arange(len(near)), few)
        yield sparse.csr_array((tied.ravel(), (rows, nearest.ravel())), shape=(len(near), len(landmarks)))
