"""Clients whose models go the same way: the clusters of ClusterFL."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Float32
from numpy.typing import NDArray
from scipy import sparse

from coterie import seeds
from coterie.coalitions.k_means import k_means
from coterie.federation import Layout, View
from coterie.plan import Coalitions, Plan
from coterie.replies import Replies
from coterie.roster import Roster
from coterie.rules import Former

Sketches = Float32[np.ndarray, "clients dims"]


@dataclass(frozen=True, eq=False)
class Known:
    """What is remembered of the clients."""

    sketches: Sketches
    """How each client's last seen model differed from the average model of its day; no columns before the first reply."""
    seen: NDArray[np.bool_]
    """Whose model was ever seen."""
    labels: NDArray[np.intp]
    """The coalition of each client."""


@dataclass(frozen=True)
class ClusterFL(Former):
    """Groups clients by k-means of their models, as clustered multi-task learning does (Ouyang et al., 2021).

    From the paper: every client i has a model w_i and the server alternates between models and clusters of

        min Σ_i loss_i(w_i) + α tr(W Wᵀ) − β tr(Fᵀ W Wᵀ F),

    with F the normalized indicator of clusters. Given the models, the best F is the k-means of the models; given F, what
    is added to the losses is β Σ_i ‖w_i − mean of its cluster‖² + (α − β) Σ_i ‖w_i‖². So each cluster has a model, the
    mean of its members', and members are pulled to it while they train (the backbone `prox` with μ = 2β); a weight decay
    of 2 (α − β) is the rest.

    From the authors' code: clusters are looked for every three rounds, β = 0.0005 and α = 0.001.

    Ours: the code has all clients train in every round, compares the outputs of their models on samples that the server
    holds, and makes F soft by principal components. Here the server holds no samples, so parameters are compared, which
    is the paper's objective to the letter; clusters are hard, and a cluster's mean takes the place of ADMM. Few clients
    train in a round, so models are of different days: what is compared is a client's model minus the average of the
    models that clients followed on that day (if all train every day, k-means cannot tell the difference), scaled to
    length 1, since clients with more samples go farther. Those never seen are with the largest cluster. Slow clients
    are not dropped.
    """

    groups: int = 5
    """k, how many clusters."""
    recluster_every: int = 3
    """Rounds for which clusters are kept."""
    max_dim: int = 512
    """Larger models are compared by random sums of their coordinates, so many."""

    def __post_init__(self) -> None:
        for name in ("groups", "recluster_every", "max_dim"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: must be a whole number from 1, not {getattr(self, name)!r}")

    def begin(self, roster: Roster) -> Known:
        n = len(roster)
        return Known(np.empty((n, 0), np.float32), np.zeros(n, bool), np.zeros(n, np.intp))

    def form(self, view: View, state: Known) -> Coalitions:
        return Coalitions(state.labels)

    def learn(self, view: View, plan: Plan, replies: Replies, state: Known) -> Known:
        if not len(replies):
            return state
        state = self._remembered(view, replies, state)
        due = view.round % self.recluster_every == 0 and np.count_nonzero(state.seen) > self.groups
        return replace(state, labels=self._clustered(view.rng, state)) if due else state

    def _remembered(self, view: View, replies: Replies, state: Known) -> Known:
        followers = np.bincount(view.follows, minlength=len(view.models))
        average = (followers / followers.sum()) @ view.models
        going = sketch(replies.models - average, view.layout, self.max_dim, view.seed)
        sketches = state.sketches.copy() if state.sketches.shape[1] else np.zeros((len(state.seen), going.shape[1]), np.float32)
        seen = state.seen.copy()
        sketches[replies.clients], seen[replies.clients] = going, True
        return replace(state, sketches=sketches, seen=seen)

    def _clustered(self, rng: np.random.Generator, state: Known) -> NDArray[np.intp]:
        points = unit(state.sketches[state.seen])
        found = np.unique(k_means(points, self.groups, rng, np.ones(len(points))), return_inverse=True)[1]
        labels = np.full(len(state.seen), np.bincount(found).argmax(), dtype=np.intp)
        labels[state.seen] = found
        return labels


def sketch(models: NDArray[np.floating], layout: Layout, dims: int, seed: int) -> Float32[np.ndarray, "models dims"]:
    """Parameters of models in few numbers that keep the distances between them, in expectation.

    Each coordinate is added to, or subtracted from, one number drawn once for the run (count sketch: Charikar, Chen and
    Farach-Colton, 2002). Models that are small enough stay as they are, and running statistics are left out.
    """
    where = [span for name, span in layout.slices.items() if name not in layout.buffers]
    kept = np.concatenate([np.arange(span.start, span.stop) for span in where])
    if len(kept) <= dims:
        return np.ascontiguousarray(models[:, kept], dtype=np.float32)
    rng = seeds.rng(seed, "sketch of a model")
    signs, buckets = rng.choice([-1.0, 1.0], len(kept)), rng.integers(dims, size=len(kept))
    sums = sparse.csr_array((signs, (kept, buckets)), shape=(models.shape[1], dims))
    return np.asarray(models @ sums, dtype=np.float32)


def unit(points: Sketches) -> Float[np.ndarray, "points dims"]:
    """Points scaled to length 1; a point at 0 stays there."""
    exact = points.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    return np.asarray(np.divide(exact, lengths, out=np.zeros_like(exact), where=lengths > 0))
