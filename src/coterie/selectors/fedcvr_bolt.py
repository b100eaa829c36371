"""One representative from each coalition of like-minded clients: FedCVR-Bolt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Float32
from numpy.typing import NDArray

from coterie.coalitions.spectral import Seen, Spectral
from coterie.coalitions.spectral_clustering import Affinity, normalized
from coterie.federation import View
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.roster import Ids, Roster
from coterie.rules import Selector
from coterie.selectors.draw import draw
from coterie.selectors.one_each import one_each


@dataclass(frozen=True, eq=False)
class Covariance:
    """All that is read of the D covariance matrices of K clients, each a running mean of deviations u uᵀ (Eq. 10 and 11).

    The algorithm needs C^d α and the diagonals only. Both are linear in C and α is constant, so that two K × D arrays
    follow the recursion exactly where the matrices would be K × K × D.
    """

    with_mean: Float[np.ndarray, "clients dims"]
    """A: C^d α, column by column."""
    diagonal: Float[np.ndarray, "clients dims"]
    """B: diag C^d."""
    share: Float[np.ndarray, " clients"]
    """α, each client's share of the samples."""
    rounds: int = 0
    """Rounds in the mean."""

    @classmethod
    def of(cls, share: Float[np.ndarray, " clients"], dims: int) -> Covariance:
        """Nothing is known yet; with γ₁ = 1 the first deviations replace whatever stands here."""
        return cls(np.zeros((len(share), dims)), np.zeros((len(share), dims)), share)

    def moved(self, deviations: Float[np.ndarray, "clients dims"]) -> Covariance:
        """C ← (1 − γ_t) C + γ_t u uᵀ with γ_t = 1/t."""
        pace = 1 / (self.rounds + 1)
        with_mean = deviations * (pace * (self.share @ deviations))
        with_mean += (1 - pace) * self.with_mean
        diagonal = deviations**2
        diagonal *= pace
        diagonal += (1 - pace) * self.diagonal
        return Covariance(with_mean, diagonal, self.share, self.rounds + 1)

    @property
    def reduction(self) -> Float[np.ndarray, " clients"]:
        """v_k = Σ_d (C^d α)_k² / C^d_kk, the variance of the global model that seeing client k takes away (Eq. 5 and 6)."""
        terms = np.divide(self.with_mean**2, self.diagonal, out=np.zeros_like(self.diagonal), where=self.diagonal > 0)
        return np.asarray(terms.sum(axis=1))


@dataclass(frozen=True, eq=False)
class Opinions:
    """What FedCVR-Bolt remembers: models, coalitions, and how the models vary together."""

    seen: Seen
    covariance: Covariance


@dataclass(frozen=True)
class FedCVRBolt(Selector):
    """Trains one client from each coalition, rather those that tell much about the global model (Licciardi et al.).

    1. For `warmup` rounds clients are random; steps 4 and 5 are done all the same.
    2. Clients are grouped into P coalitions by spectral clustering of their last seen models (Eq. 4); here already at
       the end of the round before.
    3. From each coalition one client is drawn with odds exp(β v_k), v_k being by how much seeing its model lowers the
       variance of the global one (Eq. 5, 6 and 8). Average by size (`BySize`), as the paper does.
    4. The models that come are the last seen. For each client k of a coalition whose chosen one is j the expected model is
       ρ_kj θ_j, with ρ_kj the cosine of the models before the round (Eq. 9), and its deviation u_k = θ_k − ρ_kj θ_j.
    5. The covariance of models becomes the running mean of u uᵀ (Eq. 11).

    It asks nothing beyond the models that are sent anyway.

    Where the source is silent: in the warm-up k belongs to the chosen client that is most like it, and so it does
    where its coalition's chosen one did not answer; a client that is absent is replaced from its coalition, then from
    the nearest one; one that fails while it trains keeps its last seen model. If clients' shares of the samples change,
    the covariance starts anew and models and coalitions stay. With β = 1 the choice inside a coalition is all but uniform
    in practice, since v differs by a few hundredths there; β, or `score_scale="zscore"`, makes it count.
    """

    per_round: int
    """P, how many train in a round and how many coalitions there are."""
    warmup: int = 30
    """Random rounds at the start."""
    beta: float = 1.0
    """β, how much the draw inside a coalition follows the score: 0 is uniform, large is the highest score."""
    score_scale: Literal["none", "zscore"] = "none"
    """`zscore` takes a coalition's mean from its scores and divides by their standard deviation first."""
    affinity: Affinity = "rbf"
    """What makes two models alike; see `Spectral`."""
    gamma: float | None = None
    """How fast likeness falls with distance; see `Spectral`."""
    cluster_on: Literal["model", "update"] = "model"
    """What coalitions are made of: last seen models, or what training changed in them."""
    max_dim: int = 300
    """D, the most coordinates kept of a model."""
    recluster_every: int = 1
    """Rounds for which coalitions are kept."""
    dense_limit: int = 2000
    """Clients with different models up to which the affinity graph is exact."""

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("per_round", "a whole number from 1", self.per_round >= 1),
            ("beta", "a finite number from 0", 0 <= self.beta < np.inf),
            ("score_scale", "'none' or 'zscore'", self.score_scale in ("none", "zscore")),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")
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

    def begin(self, roster: Roster) -> Opinions:
        return Opinions(self.former.begin(roster), Covariance.of(roster.share(), 0))

    def choose(self, view: View, state: Opinions) -> Ids:
        if view.round <= self.warmup or view.round == 1:
            return np.sort(draw(view.rng, view.present, self.per_round))
        labels, scores = state.seen.labels, state.covariance.reduction
        view.note(view.present, score=scores[view.present], coalition=labels[view.present])
        if self.score_scale == "zscore":
            scores = _standardized(scores, labels)
        return one_each(view.rng, labels, view.present, self.beta * scores[view.present], state.seen.models)

    def learn(self, view: View, plan: Plan, replies: Replies, state: Opinions) -> Opinions:
        before = self.former.started(view, state.seen)
        seen = self.former.learn(view, plan, replies, before)
        covariance, share = state.covariance, view.roster.share()
        if covariance.rounds == 0 or not np.array_equal(covariance.share, share):
            covariance = Covariance.of(share, seen.models.shape[1])
        if len(replies):
            covariance = covariance.moved(deviations(before, seen.models, replies.clients))
        return Opinions(seen, covariance)


def deviations(before: Seen, models: Float32[np.ndarray, "clients dims"], observed: Ids) -> Float[np.ndarray, "clients dims"]:
    """u_k = θ_k − ρ_kj θ_j, with j the observed client of k's coalition (Eq. 9), or else the one most like k."""
    old, new = normalized(before.models.astype(np.float64)), models.astype(np.float64)
    likeness = old @ old[observed].T
    ours = before.labels[:, np.newaxis] == before.labels[observed]
    closest = np.where(ours, likeness + 4, likeness).argmax(axis=1)
    expected = new[observed][closest]
    expected *= np.take_along_axis(likeness, closest[:, np.newaxis], axis=1)
    new -= expected
    new[observed] = 0
    return new


def _standardized(scores: Float[np.ndarray, " clients"], labels: NDArray[np.intp]) -> Float[np.ndarray, " clients"]:
    """Scores less their coalition's mean, in units of its standard deviation; 0 where all are alike."""
    sizes = np.bincount(labels)
    centered = scores - (np.bincount(labels, scores) / sizes)[labels]
    spread = np.sqrt(np.bincount(labels, centered**2) / sizes)[labels]
    return np.asarray(np.divide(centered, spread, out=np.zeros_like(centered), where=spread > 1e-12 * np.abs(scores).max()))
