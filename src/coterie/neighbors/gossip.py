"""Listening to a few at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.federation import View
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

    def __post_init__(self) -> None:
        if self.peers < 0:
            raise ValueError(f"peers: must be a whole number from 0, not {self.peers!r}")

    def listen(self, view: View, state: Any) -> Hears:
        present = view.present
        heard = np.column_stack([present, present[draw_others(view.rng, len(present), self.peers)]])
        ones = np.ones(heard.size, dtype=bool)
        rows = np.repeat(present, heard.shape[1])
        return sparse.csr_array((ones, (rows, heard.ravel())), shape=(len(view.roster), len(view.roster)))


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
