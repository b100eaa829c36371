"""A share of one's own, the rest of the mean: the coarse-grained sharing of Donahue and Kleinberg (2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from coterie.aggregators.by_size import BySize
from coterie.federation import View
from coterie.mixing import Merge, Mixing
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.rules import Aggregator

BY_SIZE = BySize()


@dataclass(frozen=True)
class Coarse(Aggregator):
    """Where models are personal: w of one's own, 1 − w of the mean by samples, at the best w (Donahue and Kleinberg, 2021).

    w = A / (A + T (1/n − 1/N)), where T = μ_e/σ² is the threshold, n one's own samples, N and Q the sums of samples and of
    their squares over those heard, and A = 1 + Q/N² − 2n/N. Within half a percent this is as good as the best weights for
    every pair. Where there is no threshold, or a target is not one client's own, `otherwise` decides.
    """

    threshold: float | None = None
    """T, in samples; None: the one in the certificate of the plan's coalitions."""
    otherwise: Aggregator = BY_SIZE
    """What to do where there is no threshold."""

    def __post_init__(self) -> None:
        if self.threshold is not None and not 0 < self.threshold < np.inf:
            raise ValueError(f"threshold: must be a number above 0, or None, not {self.threshold!r}")

    def weigh(self, view: View, plan: Plan, replies: Replies, state: Any) -> Merge:
        threshold, own = self._threshold(plan), plan.own(replies.clients)
        if not np.isfinite(threshold) or (own < 0).all():
            return self.otherwise.weigh(view, plan, replies, state)
        mean = BySize().weigh(view, plan, replies, state).weights
        support = plan.support(replies.clients).astype(np.float64)
        sizes = replies.counts.astype(np.float64)
        rows = np.flatnonzero((own >= 0) & (support @ sizes > 0))
        n, total, squares = sizes[own[rows]], (support @ sizes)[rows], (support @ sizes**2)[rows]
        share = np.zeros(len(own))
        share[rows] = shares(n, total, squares, threshold)
        mine = sparse.csr_array((share[rows], (rows, own[rows])), shape=mean.shape)
        return Mixing(sparse.csr_array(mine + sparse.diags_array(1 - share) @ mean))

    def _threshold(self, plan: Plan) -> float:
        if self.threshold is not None:
            return self.threshold
        known = {} if plan.coalitions is None else plan.coalitions.certificate
        return float(known.get("threshold", np.nan))


def shares(own: np.ndarray, total: np.ndarray, squares: np.ndarray, threshold: float) -> np.ndarray:
    """The best share of one's own, for clients of so many samples among so many; 1 for whoever is alone.

    >>> shares(np.array([30.0]), np.array([330.0]), np.array([90900.0]), 10.0).round(4).tolist()
    [0.8451]
    """
    apart = np.maximum(1 + squares / total**2 - 2 * own / total, 0.0)
    gain = apart + threshold * (1 / own - 1 / total)
    return np.asarray(np.divide(apart, gain, out=np.ones_like(gain), where=gain > 1e-15))
