"""K-means of weighted points, with dice of one's own: the same bytes whatever the number of threads."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy import sparse

Points = Float[np.ndarray, "points dims"]
Weights = Float[np.ndarray, " points"]


def k_means(
    points: Points, groups: int, rng: np.random.Generator, weights: Weights, restarts: int = 10, rounds: int = 100
) -> NDArray[np.intp]:
    """Labels points by the nearest of `groups` centers, the best of several starts (Lloyd; Arthur and Vassilvitskii, 2007).

    A point of weight w counts as w points in one place. A group may end up empty where points coincide.

    >>> labels = k_means(np.array([[0.0], [9.0], [0.1], [9.2]]), 2, np.random.default_rng(0), np.ones(4))
    >>> bool(labels[0] == labels[2] != labels[1] == labels[3])
    True
    """
    tries = [_lloyd(points, weights, _spread(points, groups, rng, weights), rounds) for _ in range(restarts)]
    return min(tries, key=lambda found: found[0])[1]


def squared_distances(points: Points, others: Points) -> Float[np.ndarray, "points others"]:
    """‖x − y‖² of every point to every other, never below 0."""
    squares = points @ (-2 * others.T)
    squares += np.einsum("nd,nd->n", points, points)[:, np.newaxis]
    squares += np.einsum("nd,nd->n", others, others)
    np.maximum(squares, 0, out=squares)
    return np.asarray(squares)


def _spread(points: Points, groups: int, rng: np.random.Generator, weights: Weights) -> Points:
    """Starting centers far from each other: k-means++, the best of a few candidates at each step."""
    picked = [int(rng.choice(len(points), p=weights / weights.sum()))]
    nearest = squared_distances(points, points[picked])[:, 0]
    for _ in range(groups - 1):
        odds = np.cumsum(nearest * weights)
        candidates = np.searchsorted(odds, rng.random(2 + int(np.log(groups))) * odds[-1], side="right")
        candidates = np.minimum(candidates, len(points) - 1)
        closer = np.minimum(squared_distances(points, points[candidates]), nearest[:, np.newaxis])
        best = int((weights @ closer).argmin())
        picked.append(int(candidates[best]))
        nearest = closer[:, best]
    return points[picked]


def _lloyd(points: Points, weights: Weights, centers: Points, rounds: int) -> tuple[float, NDArray[np.intp]]:
    """Moves centers to the means of their groups until nobody changes sides."""
    labels = np.full(len(points), -1)
    for _ in range(rounds):
        squares = squared_distances(points, centers)
        nearest = squares.argmin(axis=1)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        members = sparse.csr_array((weights, (labels, np.arange(len(points)))), shape=(len(centers), len(points)))
        mass = np.asarray(members.sum(axis=1)).ravel()
        means = np.asarray(members @ points)
        centers = np.where(mass[:, np.newaxis] > 0, means / np.maximum(mass, 1e-300)[:, np.newaxis], centers)
    return float(weights @ squares[np.arange(len(points)), labels]), labels
