"""What clients of AFIND+ believe of their neighbors, and how a round's similarities change it: pure kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import expit, xlogy

from coterie.neighbors.edges import Edges
from coterie.roster import Ids

AT_ONCE = 2**24
"""Numbers that lie side by side at once."""


@dataclass(frozen=True, eq=False)
class Beliefs:
    """One value an edge, and one threshold a client."""

    p: Float[np.ndarray, " edges"]
    """p_ij, how likely j is a friend of i; a client's sum to 1."""
    similarity: Float[np.ndarray, " edges"]
    """s_ij, the last known; NaN before the first."""
    threshold: Float[np.ndarray, " clients"]
    """θ_i."""

    @classmethod
    def first(cls, edges: Edges) -> Beliefs:
        """All neighbors alike, everybody contacted."""
        return cls(uniform(edges), np.full(len(edges), np.nan), np.zeros(edges.clients))

    def ranked(
        self, edges: Edges, measured: Bool[np.ndarray, " edges"], found: Float[np.ndarray, " edges"], nu: float, memory: float
    ) -> Beliefs:
        """With new similarities where some were measured (Eq. 9).

        p_ij = softmax_j(s_ij / ν) · (1 − Σ p of the others): the others keep their p, so that a row always sums to 1.
        Without memory those just measured are ranked; with it all that were ever measured, by the running mean
        s ← (1 − memory) · s + memory · found.
        """
        known = measured & ~np.isnan(self.similarity) if memory else np.zeros(len(edges), dtype=bool)
        similarity = np.where(measured, found, self.similarity)
        similarity[known] = (1 - memory) * self.similarity[known] + memory * found[known]
        among = ~np.isnan(similarity) if memory else measured
        few = edges.only(among)
        p = self.p.copy()
        p[among] = few.softmax(similarity[among] / nu) * few.sums(p[among])[few.rows]
        return replace(self, p=p, similarity=similarity)

    def confident(
        self, edges: Edges, contacted: Bool[np.ndarray, " edges"], tau: float, entropy: Literal["sum", "mean"]
    ) -> Beliefs:
        """With new thresholds for those who contacted anybody (Eqs. 10–13).

        e = (s + 1) / 2, h = −Σ e ln e (or its mean), C̃ = 1 − sigmoid(h), θ = τ C̃.
        """
        few = edges.only(contacted)
        e = (self.similarity[contacted] + 1) / 2
        count, h = few.sums(np.ones(len(few))), -few.sums(xlogy(e, e))
        h = h / np.maximum(count, 1) if entropy == "mean" else h
        return replace(self, threshold=np.where(count > 0, tau * expit(-h), self.threshold))

    def restarted(self, edges: Edges, clients: Bool[np.ndarray, " clients"]) -> Beliefs:
        """As at first for some clients, but for the similarities that they know."""
        p = np.where(clients[edges.rows], uniform(edges), self.p)
        return replace(self, p=p, threshold=np.where(clients, 0.0, self.threshold))


def uniform(edges: Edges) -> Float[np.ndarray, " edges"]:
    """1 / |B_i| on every edge."""
    return np.asarray(1 / edges.sums(np.ones(len(edges)))[edges.rows])


def cosines(ours: Float[np.ndarray, "edges part"], theirs: Float[np.ndarray, "edges part"]) -> Float[np.ndarray, " edges"]:
    """The cosine of each pair of rows; 0 where one is zero, NaN where one is not known.

    >>> cosines(np.array([[1.0, 0], [0, 0]]), np.array([[2.0, 0], [1, 0]])).tolist()
    [1.0, 0.0]
    """
    inner = np.einsum("ij,ij->i", ours, theirs, dtype=np.float64)
    squares = np.einsum("ij,ij->i", ours, ours, dtype=np.float64) * np.einsum("ij,ij->i", theirs, theirs, dtype=np.float64)
    lengths = np.sqrt(squares)
    found = np.divide(inner, lengths, out=np.where(np.isnan(lengths), np.nan, 0.0), where=lengths > 0)
    return np.asarray(np.clip(found, -1, 1))


def cosines_within(rows: Float[np.ndarray, "rows part"], ours: Ids, theirs: Ids) -> Float[np.ndarray, " pairs"]:
    """`cosines(rows[ours], rows[theirs])`: pair by pair where there are few, else by products of whole blocks.

    >>> cosines_within(np.array([[1.0, 0], [3, 3]]), np.array([0, 1]), np.array([1, 1])).round(3).tolist()
    [0.707, 1.0]
    """
    found = np.empty(len(ours))
    if len(ours) * 8 < len(rows) ** 2:
        for some in blocks(len(ours), AT_ONCE // max(rows.shape[1], 1)):
            found[some] = cosines(rows[ours[some]], rows[theirs[some]])
        return found
    exact = rows.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", exact, exact))[:, np.newaxis]
    unit = np.divide(exact, lengths, out=exact * 0, where=lengths > 0)
    order = np.argsort(ours, kind="stable")
    for some in blocks(len(rows), AT_ONCE // max(len(rows), 1)):
        pairs = order[slice(*np.searchsorted(ours[order], [some.start, some.stop]))]
        found[pairs] = (unit[some] @ unit.T)[ours[pairs] - some.start, theirs[pairs]]
    return np.asarray(np.clip(found, -1, 1))


def blocks(count: int, size: int) -> Iterator[slice]:
    """Slices of at most so many that cover a count."""
    for start in range(0, count, max(size, 1)):
        yield slice(start, min(start + max(size, 1), count))
