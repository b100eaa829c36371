"""A few clients whose gradients stand for everybody's: DivFL (Balakrishnan et al., ICLR 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Float32
from numpy.typing import NDArray

from coterie.coalitions.k_means import squared_distances
from coterie.federation import View
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.roster import Ids, Roster
from coterie.rules import Selector
from coterie.selectors.draw import draw


@dataclass(frozen=True, eq=False)
class Gradients:
    """The gradient last told by each client, and how far they are apart; NaN where one is not known."""

    rows: Float32[np.ndarray, "clients part"]
    distances: Float[np.ndarray, "clients clients"]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whose gradient is known."""
        return ~np.isnan(np.diag(self.distances))

    def updated(self, clients: Ids, rows: Float32[np.ndarray, "told part"]) -> Gradients:
        """Replaces the gradients of some clients, and their distances to all others."""
        told = np.isfinite(rows).all(axis=1)
        clients, rows = clients[told], rows[told]
        all_rows = self.rows.copy() if self.rows.shape[1] else np.full((len(self.rows), rows.shape[1]), np.nan, np.float32)
        all_rows[clients] = rows
        distances = self.distances.copy()
        for one in range(0, len(all_rows), _CHUNK):
            others = slice(one, one + _CHUNK)
            apart = np.sqrt(squared_distances(all_rows[others].astype(np.float64), rows.astype(np.float64)))
            distances[others, clients] = apart
            distances[clients, others] = apart.T
        distances[clients, clients] = 0
        return Gradients(all_rows, distances)


_CHUNK = 256
"""Clients whose gradients are held in double precision at once."""


@dataclass(frozen=True)
class DivFL(Selector):
    """Trains the few clients whose gradients are nearest to everybody's (Balakrishnan et al., 2022).

    Chooses S to make G(S) = Σ_k min_{i∈S} ‖g_k − g_i‖ small, client after client: first the one with the smallest sum of
    distances, then whoever lowers G most. That greedy choice is as good as for any monotone submodular function.

    As in the authors' practical version all clients tell their gradient once, and afterwards only those who trained, at
    the model that they received. Where the source is silent: gradients are asked for at the end of the first round, which
    is random, and of clients that were absent then, when they come; clients that are absent now need to be stood for, but
    cannot be chosen; places left over go to random clients.
    """

    per_round: int
    """m, how many train in a round."""
    part: Literal["model", "head"] = "model"
    """Which gradient is told: the whole model's, or its last layer's."""
    refresh: Literal["trained", "all"] = "trained"
    """Who tells a new gradient after a round: those who trained, or everybody, which costs a broadcast."""

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("per_round", "a whole number from 1", self.per_round >= 1),
            ("part", "'model' or 'head'", self.part in ("model", "head")),
            ("refresh", "'trained' or 'all'", self.refresh in ("trained", "all")),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")

    def begin(self, roster: Roster) -> Gradients:
        n = len(roster)
        return Gradients(np.empty((n, 0), np.float32), np.full((n, n), np.nan))

    def choose(self, view: View, state: Gradients) -> Ids:
        known = state.known
        candidates = view.present[known[view.present]]
        apart = state.distances[np.ix_(np.flatnonzero(known), candidates)]
        view.note(candidates, distance=apart.sum(axis=0))
        chosen = candidates[representatives(apart, self.per_round)]
        rest = draw(view.rng, np.setdiff1d(view.present, chosen), self.per_round - len(chosen))
        return np.sort(np.concatenate([chosen, rest]))

    def learn(self, view: View, plan: Plan, replies: Replies, state: Gradients) -> Gradients:
        unknown = view.present[~state.known[view.present]]
        asked = view.present if self.refresh == "all" else np.union1d(replies.clients, unknown)
        if not len(asked):
            return state
        return state.updated(asked, view.ask.gradients(asked, part=view.layout.head if self.part == "head" else None))


def representatives(distances: Float[np.ndarray, "clients candidates"], count: int) -> NDArray[np.intp]:
    """Picks candidates (their positions) greedily so that everybody is near one of them.

    >>> representatives(np.array([[0.0, 1, 9], [1, 0, 9], [9, 9, 0]]), 2).tolist()
    [0, 2]
    """
    nearest = np.full(len(distances), np.inf)
    picked: list[int] = []
    for _ in range(min(count, distances.shape[1])):
        left = np.minimum(distances, nearest[:, np.newaxis]).sum(axis=0)
        left[picked] = np.inf
        picked.append(int(left.argmin()))
        nearest = np.minimum(nearest, distances[:, picked[-1]])
    return np.array(picked, dtype=np.intp)
