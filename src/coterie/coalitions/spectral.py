"""Clients whose last seen models are alike: the coalitions of FedCVR-Bolt, and the memory they are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

from coterie import seeds
from coterie.coalitions.spectral_clustering import Affinity, spectral_clustering
from coterie.federation import View
from coterie.plan import Coalitions, Plan
from coterie.replies import Replies
from coterie.roster import Roster
from coterie.rules import Former


@dataclass(frozen=True, eq=False)
class Seen:
    """What is remembered of each client's models, cut to a few coordinates; no coordinates before the first round."""

    models: Float32[np.ndarray, "clients dims"]
    """θ: the last model seen from each client; before that the initial one."""
    updates: Float32[np.ndarray, "clients dims"]
    """The last model seen, minus the model that it started from; no coordinates unless coalitions are made of them."""
    labels: NDArray[np.intp]
    """The coalition of each client."""


@dataclass(frozen=True)
class Spectral(Former):
    """Groups clients into a fixed number of coalitions by spectral clustering of their last seen models.

    It asks nothing: all it sees is the models that clients reply with. Of a large model it keeps the last layer, of a
    large last layer a random part. Until `warmup` rounds are over all clients are in one coalition. Clients that were
    never seen hold the same model, so they stay together. See `coterie.coalitions.spectral_clustering` for the graph.
    """

    groups: int
    """P, how many coalitions."""
    affinity: Affinity = "rbf"
    """What makes two models alike: `rbf` or `cosine` of models scaled to length 1, `raw` (for two coordinates or fewer),
    or `neighbors`."""
    gamma: float | None = None
    """How fast likeness falls with distance; by default one over the median squared distance (`rbf`), or 1 (`raw`)."""
    cluster_on: Literal["model", "update"] = "model"
    """What is compared: models, or what a client's training changed in the model it started from."""
    max_dim: int = 300
    """The most coordinates kept of a model."""
    warmup: int = 0
    """Rounds before the first clustering."""
    recluster_every: int = 1
    """Rounds for which coalitions are kept."""
    dense_limit: int = 2000
    """Clients with different models up to which the affinity graph is exact."""

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("groups", "a whole number from 1", self.groups >= 1),
            ("affinity", "'rbf', 'raw', 'cosine' or 'neighbors'", self.affinity in ("rbf", "raw", "cosine", "neighbors")),
            ("gamma", "None or a number above 0", self.gamma is None or 0 < self.gamma < np.inf),
            ("cluster_on", "'model' or 'update'", self.cluster_on in ("model", "update")),
            ("max_dim", "a whole number from 1", self.max_dim >= 1),
            ("warmup", "a whole number from 0", self.warmup >= 0),
            ("recluster_every", "a whole number from 1", self.recluster_every >= 1),
            ("dense_limit", "a whole number from 1", self.dense_limit >= 1),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")

    def begin(self, roster: Roster) -> Seen:
        nothing = np.empty((len(roster), 0), np.float32)
        return Seen(nothing, nothing, np.zeros(len(roster), np.intp))

    def form(self, view: View, state: Seen) -> Coalitions:
        return Coalitions(state.labels)

    def learn(self, view: View, plan: Plan, replies: Replies, state: Seen) -> Seen:
        state = self.remembered(view, plan, replies, self.started(view, state))
        late = view.round - max(self.warmup, 1)
        return self._clustered(view, state) if late >= 0 and late % self.recluster_every == 0 else state

    def started(self, view: View, state: Seen) -> Seen:
        """Before the first round everybody's model is the one that it follows."""
        if state.models.shape[1]:
            return state
        models = np.ascontiguousarray(view.models[:, self._coordinates(view)][view.follows])
        return replace(state, models=models, updates=np.zeros_like(models) if self.cluster_on == "update" else state.updates)

    def remembered(self, view: View, plan: Plan, replies: Replies, state: Seen) -> Seen:
        """The models just seen take the places of those seen before."""
        kept = self._coordinates(view)
        models, updates = state.models.copy(), state.updates
        models[replies.clients] = replies.models[:, kept]
        if self.cluster_on == "update":
            start = plan.start[np.searchsorted(plan.trainers, replies.clients)]
            updates = updates.copy()
            updates[replies.clients] = replies.models[:, kept] - view.models[start][:, kept]
        return replace(state, models=models, updates=updates)

    def _clustered(self, view: View, state: Seen) -> Seen:
        points = state.models if self.cluster_on == "model" else state.updates
        labels = spectral_clustering(points, self.groups, view.rng, self.affinity, self.gamma, self.dense_limit)
        return replace(state, labels=labels)

    def _coordinates(self, view: View) -> slice | NDArray[np.intp]:
        """The whole model if it is small, else the last layer, else a part of that drawn once from the run's seed."""
        if view.layout.size <= self.max_dim:
            return slice(None)
        head = view.layout.head
        if head.stop - head.start <= self.max_dim:
            return head
        rng = seeds.rng(view.seed, "coordinates of the last layer")
        return np.sort(rng.choice(np.arange(head.start, head.stop), self.max_dim, replace=False))
