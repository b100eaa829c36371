"""Listening to a few at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.federation import View
from coterie.neighbors.edges import Edges
from coterie.neighbors.topologies import Topology, check, graph
from coterie.plan import Hears
from coterie.roster import Ids
from coterie.rules import Listener


@dataclass(frozen=True)
class Gossip(Listener):
    """Every client listens to itself and to a few others drawn at random, new ones each round (Ormándi et al., 2013).

    In the classical form a client sends its model to one other, who merges the two by age. This is the form that
    comparisons of personal models use: each draws its peers and averages. Here training comes before averaging.
    """

    peers: int = 10
    """How many others a client listens to."""
    topology: Topology = "full"
    """Who could hear whom: see `coterie.neighbors.topologies`."""

    def __post_init__(self) -> None:
        if self.peers < 0:
            raise ValueError(f"peers: must be a whole number from 0, not {self.peers!r}")
        check(self.topology)

    def listen(self, view: View, state: Any) -> Hears:
        return with_oneself(draw(view, self.topology, self.peers), view.present)


def draw(view: View, topology: Topology, peers: int) -> Edges:
    """For each client that is there a few of its neighbors that are there, drawn uniformly."""
    present, clients = view.present, len(view.roster)
    if topology == "full":
        others = draw_others(view.rng, len(present), peers)
        return Edges(clients, np.repeat(present, others.shape[1]), present[np.sort(others, axis=1)].ravel())
    links = graph(topology, clients, view.seed)
    near = links.only(links.among(present))
    return near.only(near.first(peers, view.rng.random(len(near))))


def degrees(view: View, topology: Topology) -> NDArray[np.int64]:
    """How many neighbors each client has, there or not."""
    clients = len(view.roster)
    if topology == "full":
        return np.full(clients, max(clients - 1, 0))
    return np.bincount(graph(topology, clients, view.seed).rows, minlength=clients)


def draw_others(rng: np.random.Generator, count: int, peers: int) -> NDArray[np.intp]:
    """For each of `count` clients distinct others, drawn uniformly; all others where there are fewer than asked for.

    >>> draw_others(np.random.default_rng(0), 2, 5).tolist()
    [[1], [0]]
    """
    peers = min(peers, max(count - 1, 0))
    others = np.empty((count, peers), dtype=np.intp)
    for client in range(count):
        drawn: Ids = rng.choice(count - 1, peers, replace=False) if peers else others[client]
        others[client] = drawn + (drawn >= client)
    return others


def with_oneself(edges: Edges, present: Ids) -> Hears:
    """Who hears whom by these edges; each that is there hears itself too."""
    rows, cols = np.concatenate([edges.rows, present]), np.concatenate([edges.cols, present])
    return sparse.csr_array((np.ones(len(rows), dtype=bool), (rows, cols)), shape=(edges.clients, edges.clients))
