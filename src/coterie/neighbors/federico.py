"""Listening to those whose models explain one's own data: FedeRiCo (Sui et al., 2022)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy import sparse

from coterie.federation import View
from coterie.neighbors.edges import Edges
from coterie.neighbors.topologies import Topology, check, graph
from coterie.plan import Hears, Plan
from coterie.replies import Replies
from coterie.rules import Listener

Shares = Float[np.ndarray, " edges"]


@dataclass(frozen=True)
class Federico(Listener):
    """Takes its data for a mixture of what all clients' models explain, and listens by the shares (Sui et al., 2022).

    1. A client hears `sampled` neighbors, each drawn by its shares π with chance 1−ε and uniformly with chance ε.
    2. E step, after training: r_ij ∝ π_ij · exp(−ℓ_i(w_j)), with ℓ_i the mean loss of j's model on i's training samples, for
       those heard and i itself; the shares of all others stay as they are, so that a row always sums to 1.
    3. π_ij ← (1 − `momentum`) · π_ij + `momentum` · r_ij, and models are mixed by π among those heard.

    Where the source is silent, or we differ: π starts uniform over the neighbors and oneself. With the sum of the losses
    instead of their mean r is one-hot after a round. The source lets clients' gradients flow into each other's models
    by r, and predicts with the mixture; here each trains its own and models are mixed. Watch the weight on oneself: with
    a shared last layer it can run to 1, and then this is learning alone.
    """

    sampled: int = 10
    """How many neighbors a client hears in a round."""
    epsilon: float = 0.3
    """ε, how often one is drawn whatever its share."""
    momentum: float = 0.5
    """How much the newest round counts in the shares."""
    topology: Topology = "full"
    """Who could hear whom: see `coterie.neighbors.topologies`."""

    def __post_init__(self) -> None:
        if self.sampled < 1:
            raise ValueError(f"sampled: must be a whole number from 1, not {self.sampled!r}")
        for name in ("epsilon", "momentum"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}: must be in [0, 1], not {getattr(self, name)!r}")
        check(self.topology)

    def listen(self, view: View, state: NDArray[np.float64] | None) -> Hears:
        edges, shares = self._opened(view, state)
        there = edges.among(view.present)
        own = edges.rows == edges.cols
        drawn = np.flatnonzero(there & ~own)
        near, key = edges.only(there & ~own), self._keys(view, edges, shares)[drawn]
        heard = there & own
        heard[drawn[near.first(self.sampled, -key)]] = True
        return edges.only(heard).matrix()

    def _keys(self, view: View, edges: Edges, shares: Shares) -> Shares:
        """Gumbel keys: the highest few are a draw without replacement by the shares, mixed with uniform ones."""
        others = edges.rows != edges.cols
        total, count = edges.sums(shares * others)[edges.rows], edges.sums(others)[edges.rows]
        greedy = np.divide(shares, total, out=np.zeros(len(edges)), where=total > 0)
        chance = (1 - self.epsilon) * greedy + self.epsilon / np.maximum(count, 1)
        return np.asarray(np.log(np.maximum(chance, 1e-300)) + view.rng.gumbel(size=len(edges)))

    def heed(self, view: View, plan: Plan, replies: Replies, state: Shares | None) -> tuple[sparse.csr_array, Shares]:
        edges, shares = self._opened(view, state)
        heard = Edges.of(plan.support(replies.clients))
        losses = view.ask.losses(heard.rows, heard.cols, among=replies, split="train") if len(heard) else np.empty(0)
        told = np.isfinite(losses)
        place = edges.find(heard.rows, replies.clients[heard.cols])
        learned = self.learned(edges, shares, place[told], losses[told])
        weights = np.maximum(learned[place], 1e-12), (heard.rows, heard.cols)
        return sparse.csr_array(weights, shape=(edges.clients, len(replies))), learned

    def learned(self, edges: Edges, shares: Shares, asked: NDArray[np.intp], losses: Float[np.ndarray, " asked"]) -> Shares:
        """The shares after losses were told for some edges."""
        few = Edges(edges.clients, edges.rows[asked], edges.cols[asked])
        mass = few.sums(shares[asked])[few.rows]
        explained = few.softmax(np.log(np.maximum(shares[asked], 1e-300)) - losses) * mass
        learned = shares.copy()
        learned[asked] += self.momentum * (explained - shares[asked])
        return learned

    def _opened(self, view: View, state: Shares | None) -> tuple[Edges, Shares]:
        """The graph with oneself among the neighbors, and the shares; uniform at first."""
        linked = graph(self.topology, len(view.roster), view.seed)
        edges = Edges.of(sparse.csr_array(linked.matrix() + sparse.eye_array(linked.clients, dtype=bool, format="csr")))
        return edges, 1 / edges.sums(np.ones(len(edges)))[edges.rows] if state is None else state
