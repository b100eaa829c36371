"""FedCVR-Bolt's coalitions without its scores: what clustering alone is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from coterie.coalitions.spectral import Seen, Spectral
from coterie.coalitions.spectral_clustering import Affinity
from coterie.federation import View
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.roster import Ids, Roster
from coterie.rules import Selector
from coterie.selectors.draw import draw
from coterie.selectors.one_each import one_each


@dataclass(frozen=True)
class ClustersOnly(Selector):
    """Trains one client of each coalition of clients with like models, all of them with the same chance (ours, a control).

    It is FedCVR-Bolt with β = 0 without the covariances that β = 0 never reads. Show it beside FedCVR-Bolt: what that one
    gains over this one is what its scores are worth.
    """

    per_round: int
    """P, how many train in a round and how many coalitions there are."""
    warmup: int = 30
    """Random rounds at the start."""
    affinity: Affinity = "rbf"
    """What makes two models alike; see `Spectral`."""
    gamma: float | None = None
    """How fast likeness falls with distance; see `Spectral`."""
    cluster_on: Literal["model", "update"] = "model"
    """What coalitions are made of: last seen models, or what training changed in them."""
    max_dim: int = 300
    """The most coordinates kept of a model."""
    recluster_every: int = 1
    """Rounds for which coalitions are kept."""
    dense_limit: int = 2000
    """Clients with different models up to which the affinity graph is exact."""

    def __post_init__(self) -> None:
        if self.per_round < 1:
            raise ValueError(f"per_round: must be a whole number from 1, not {self.per_round!r}")
        assert self.former

    @property
    def former(self) -> Spectral:
        """The rule that makes the coalitions."""
        return Spectral(
            self.per_round,
            self.affinity,
            self.gamma,
            self.cluster_on,
            self.max_dim,
            self.warmup,
            self.recluster_every,
            self.dense_limit,
        )

    def begin(self, roster: Roster) -> Seen:
        return self.former.begin(roster)

    def choose(self, view: View, state: Seen) -> Ids:
        if view.round <= self.warmup or view.round == 1:
            return np.sort(draw(view.rng, view.present, self.per_round))
        view.note(view.present, coalition=state.labels[view.present])
        return one_each(view.rng, state.labels, view.present, np.zeros(len(view.present)), state.models)

    def learn(self, view: View, plan: Plan, replies: Replies, state: Seen) -> Seen:
        return self.former.learn(view, plan, replies, state)
