"""Who could hear whom at all: the graph on which clients without a server are linked."""

from __future__ import annotations

from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy import sparse

from coterie import seeds
from coterie.neighbors.edges import Edges

if TYPE_CHECKING:
    import networkx as nx

Topology: TypeAlias = str | tuple[tuple[int, int], ...]
"""The name of a graph, with a colon before each of its numbers, or its edges as pairs of clients."""

NAMES = {
    "full": "everybody with everybody",
    "half": "each with a random half of the others, connected",
    "regular:10": "each with so many others at random, connected",
    "ring": "a circle",
    "grid": "a rectangle as square as can be, its last row perhaps shorter",
    "small-world:4:0.1": "a ring of the nearest 4, each link moved elsewhere with this chance (Watts and Strogatz, 1998)",
}
TRIES = 100
"""How often a random graph is drawn anew because it fell apart."""


@lru_cache(maxsize=16)
def graph(topology: Topology, clients: int, seed: int) -> Edges:
    """The links of a topology, in both directions; the same for the same seed.

    >>> graph("ring", 4, seed=0).cols.tolist()
    [1, 3, 0, 2, 1, 3, 0, 2]
    """
    check(topology)
    linked = _pairs(topology, clients) if not isinstance(topology, str) else _named(topology, clients, seed)
    linked = sparse.csr_array(linked + linked.T, dtype=bool)
    linked.setdiag(False)
    linked.eliminate_zeros()
    return Edges.of(linked)


def check(topology: Topology) -> None:
    """Raises ValueError for a topology that there is not."""
    if not isinstance(topology, str):
        return
    name, *numbers = topology.split(":")
    known = {one.partition(":")[0]: one for one in NAMES}
    if name in known and len(numbers) <= known[name].count(":") and all(map(_fits, numbers, (int, float))):
        return
    raise ValueError(f"topology: must be one of {', '.join(NAMES)}, or pairs of clients, not {topology!r}")


def _fits(number: str, kind: type) -> bool:
    try:
        value = kind(number)
    except ValueError:
        return False
    return bool(value >= 1) if kind is int else bool(0 <= value <= 1)


def _pairs(pairs: tuple[tuple[int, int], ...], clients: int) -> sparse.csr_array:
    ends = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    wrong = ends[(ends < 0) | (ends >= clients)]
    if len(wrong):
        raise ValueError(f"topology: it links client {wrong[0]}; there are {clients}")
    return sparse.csr_array((np.ones(len(ends), dtype=bool), (ends[:, 0], ends[:, 1])), shape=(clients, clients))


def _named(topology: str, clients: int, seed: int) -> sparse.csr_array:
    import networkx as nx

    name, *numbers = topology.split(":")
    degree = int(numbers[0]) if numbers else 4 if name == "small-world" else 10
    if name == "half":
        degree = clients // 2
    if name == "full" or (name in ("half", "regular", "small-world") and degree >= clients - 1):
        return sparse.csr_array(np.ones((clients, clients), dtype=bool))
    if name == "ring":
        drawn = nx.cycle_graph(clients)
    elif name == "grid":
        drawn = _grid(clients)
    else:
        drawn = _random(name, degree, float(numbers[1]) if len(numbers) > 1 else 0.1, clients, seed)
    return sparse.csr_array(nx.to_scipy_sparse_array(drawn, nodelist=range(clients), dtype=bool) if clients else (0, 0))


def _grid(clients: int) -> nx.Graph:
    import networkx as nx

    columns = max(isqrt(max(clients - 1, 0)) + 1, 1)
    rows = -(-clients // columns)
    squares = nx.convert_node_labels_to_integers(nx.grid_2d_graph(rows, columns))
    return squares.subgraph(range(clients))


def _random(name: str, degree: int, moved: float, clients: int, seed: int) -> nx.Graph:
    """The first of the graphs drawn that holds together. Where degrees cannot all be odd they are one higher."""
    import networkx as nx

    rng = seeds.rng(seed, "topology", name, degree, clients)
    even = degree + (degree * clients) % 2
    for _ in range(TRIES):
        if name == "small-world":
            drawn = nx.watts_strogatz_graph(clients, degree, moved, seed=rng)
        else:
            drawn = nx.random_regular_graph(even, clients, seed=rng)
        if nx.is_connected(drawn):
            return drawn
    raise ValueError(f"topology: no graph '{name}' of {clients} clients with {degree} neighbors each held together")
