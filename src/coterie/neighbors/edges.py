"""Pure kernels on the edges of a graph: one value an edge, taken together client by client."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from scipy import sparse

from coterie.roster import Ids


@dataclass(frozen=True, eq=False)
class Edges:
    """Who is linked to whom: the client of each edge and its neighbor, sorted by client, then by neighbor.

    >>> ring = Edges.of(sparse.csr_array(np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])))
    >>> ring.rows.tolist(), ring.cols.tolist()
    ([0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1])
    """

    clients: int
    rows: Ids
    cols: Ids

    @classmethod
    def of(cls, matrix: sparse.csr_array) -> Edges:
        """The entries of a matrix, off its diagonal or on it."""
        ordered = sparse.csr_array(matrix)
        ordered.sort_indices()
        rows = np.repeat(np.arange(ordered.shape[0], dtype=np.intp), np.diff(ordered.indptr))
        return cls(ordered.shape[0], rows, ordered.indices.astype(np.intp))

    def __len__(self) -> int:
        return len(self.rows)

    def among(self, present: Ids) -> Bool[np.ndarray, " edges"]:
        """The edges both of whose ends are there."""
        there = np.zeros(self.clients, dtype=bool)
        there[present] = True
        return np.asarray(there[self.rows] & there[self.cols])

    def only(self, chosen: Bool[np.ndarray, " edges"]) -> Edges:
        """Some of the edges."""
        return Edges(self.clients, self.rows[chosen], self.cols[chosen])

    def find(self, rows: Ids, cols: Ids) -> NDArray[np.intp]:
        """Where these edges stand; each must be there."""
        codes = self.rows * np.int64(self.clients) + self.cols
        return np.searchsorted(codes, rows * np.int64(self.clients) + cols)

    def sums(self, values: NDArray[np.generic]) -> Float[np.ndarray, " clients"]:
        """Each client's sum over its edges."""
        return np.bincount(self.rows, weights=values, minlength=self.clients).astype(np.float64)

    def first(self, count: int, *keys: NDArray[np.generic]) -> Bool[np.ndarray, " edges"]:
        """For each client so many edges with the lowest keys: the first key counts most, then the next.

        >>> Edges(2, np.array([0, 0, 1]), np.array([0, 1, 1])).first(1, np.array([2, 1, 3])).tolist()
        [False, True, True]
        """
        order = np.lexsort((*reversed(keys), self.rows))
        starts = np.searchsorted(self.rows, np.arange(self.clients))
        chosen = np.zeros(len(self), dtype=bool)
        chosen[order[np.arange(len(self)) - starts[self.rows] < count]] = True
        return chosen

    def softmax(self, logits: Float[np.ndarray, " edges"]) -> Float[np.ndarray, " edges"]:
        """Each client's softmax over its edges."""
        highest = np.full(self.clients, -np.inf)
        np.maximum.at(highest, self.rows, logits)
        raised = np.exp(logits - highest[self.rows])
        return np.asarray(raised / self.sums(raised)[self.rows])

    def matrix(self, values: NDArray[np.generic] | None = None) -> sparse.csr_array:
        """Clients × clients: true where there is an edge, or the edges' values."""
        data = np.ones(len(self), dtype=bool) if values is None else values
        return sparse.csr_array((data, (self.rows, self.cols)), shape=(self.clients, self.clients))
