"""Listening to those whose models do best on one's own data: PENS (Onoszko et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.federation import View
from coterie.neighbors.edges import Edges
from coterie.neighbors.gossip import degrees, draw, with_oneself
from coterie.neighbors.topologies import Topology, check
from coterie.plan import Hears, Plan
from coterie.replies import Replies
from coterie.rules import Listener


@dataclass(frozen=True, eq=False)
class Chosen:
    """Who chose whom how often so far."""

    pairs: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """Client · clients + neighbor, ascending."""
    times: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def plus(self, edges: Edges) -> Chosen:
        """With one more for each of these edges."""
        new = edges.rows * np.int64(edges.clients) + edges.cols
        pairs, place = np.unique(np.concatenate([self.pairs, new]), return_inverse=True)
        times = np.concatenate([self.times, np.ones(len(new), np.int64)])
        return Chosen(pairs, np.bincount(place, weights=times).astype(np.int64))

    def often(self, edges: Edges, degrees: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these edges were chosen more often than a client with so many neighbors chooses each by chance."""
        choices = np.bincount(self.pairs // max(edges.clients, 1), weights=self.times, minlength=edges.clients)
        by_chance = choices / np.maximum(degrees, 1)
        times = np.zeros(len(edges))
        _, mine, here = np.intersect1d(self.pairs, edges.rows * np.int64(edges.clients) + edges.cols, return_indices=True)
        times[here] = self.times[mine]
        return np.asarray(times > by_chance[edges.rows])


@dataclass(frozen=True)
class Pens(Listener):
    """First finds out whose models suit its data, then gossips with these only (Onoszko et al., 2021).

    1. For `search` rounds a client hears `sampled` neighbors drawn at random, asks itself for the loss of each of
       their models on its own training samples, mixes the `keep` with the lowest, and counts whom it chose.
    2. From then on it hears up to `sampled` of those whom it chose more often than chance: with n neighbors more than
       keep / n · search times, or, after rounds in which it was away, more than its choices so far / n.

    Where the source is silent: who chose nobody more often than chance gossips with all its neighbors. The source
    averages first and trains then; here, as everywhere, models are compared and averaged after they were trained.
    """

    search: int = 200
    """Rounds of the first phase."""
    sampled: int = 10
    """How many neighbors a client hears in a round."""
    keep: int = 2
    """How many of them it mixes in the first phase."""
    topology: Topology = "full"
    """Who could hear whom: see `coterie.neighbors.topologies`."""

    def __post_init__(self) -> None:
        for name in ("search", "sampled", "keep"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: must be a whole number from 1, not {getattr(self, name)!r}")
        check(self.topology)

    def begin(self, roster: object) -> Chosen:
        return Chosen()

    def listen(self, view: View, state: Chosen) -> Hears:
        if view.round <= self.search:
            return with_oneself(draw(view, self.topology, self.sampled), view.present)
        near = draw(view, self.topology, len(view.roster))
        friends = state.often(near, degrees(view, self.topology))
        open_to = near.only(friends | (near.sums(friends) == 0)[near.rows])
        return with_oneself(open_to.only(open_to.first(self.sampled, view.rng.random(len(open_to)))), view.present)

    def heed(self, view: View, plan: Plan, replies: Replies, state: Chosen) -> tuple[sparse.csr_array, Chosen]:
        if view.round > self.search:
            return super().heed(view, plan, replies, state)
        heard = Edges.of(plan.support(replies.clients))
        others = heard.only(replies.clients[heard.cols] != heard.rows)
        losses = view.ask.losses(others.rows, others.cols, among=replies, split="train") if len(others) else np.empty(0)
        asked = others.only(~np.isnan(losses))
        best = asked.only(asked.first(self.keep, losses[~np.isnan(losses)]))
        chosen = Edges(len(view.roster), best.rows, replies.clients[best.cols])
        return _oneself_and(best, replies), state.plus(chosen)


def _oneself_and(best: Edges, replies: Replies) -> sparse.csr_array:
    """Clients × replies: those chosen, and one's own."""
    rows = np.concatenate([best.rows, replies.clients])
    cols = np.concatenate([best.cols, np.arange(len(replies))])
    return sparse.csr_array((np.ones(len(rows), dtype=bool), (rows, cols)), shape=(best.clients, len(replies)))
