"""Each other's models by how alike the updates were: the fine-grained aggregation of PrivShare's E.4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from coterie.aggregators.by_size import BySize
from coterie.federation import View
from coterie.mixing import Mixing, rows_to_one
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.rules import Aggregator


@dataclass(frozen=True)
class Fine(Aggregator):
    """Where models are personal: θ_j ← Σ_k v_jk θ_k with v_jk ∝ 1 + cos(Δθ_j, Δθ_k) (PrivShare's Eq. 58).

    Δθ is what training changed. Orthogonal updates still get half the weight of like ones, and sizes do not count, so as
    printed the weights are nearly uniform. Ours: `cosine_power` raises 1 + cos to a power, and `by_size` multiplies it by
    samples. Where a target is not one client's own, replies count by samples.
    """

    cosine_power: float = 1.0
    """1 is the source's; the higher, the more likeness matters."""
    by_size: bool = False
    """Whether samples count too."""

    def __post_init__(self) -> None:
        if not 0 <= self.cosine_power < np.inf:
            raise ValueError(f"cosine_power: must be a number from 0, not {self.cosine_power!r}")

    def weigh(self, view: View, plan: Plan, replies: Replies, state: Any) -> Mixing:
        own = plan.own(replies.clients)
        plain = BySize().weigh(view, plan, replies, state)
        if (own < 0).all():
            return plain
        heard = plan.support(replies.clients).tocoo()
        mine = own[heard.row] >= 0
        rows, columns = heard.row[mine], heard.col[mine]
        start = plan.start[np.searchsorted(plan.trainers, replies.clients)]
        alike = 1 + cosines(replies.models - view.models[start])[own[rows], columns]
        weights = np.maximum(alike, 1e-12) ** self.cosine_power
        if self.by_size:
            weights = weights * replies.counts[columns]
        fine = rows_to_one(sparse.csr_array((weights, (rows, columns)), shape=heard.shape)).weights
        rest = sparse.diags_array((own < 0).astype(np.float64)) @ plain.weights
        return Mixing(sparse.csr_array(fine + rest))


def cosines(changes: np.ndarray) -> np.ndarray:
    """The cosine of the angle between each two updates; 0 beside one that changed nothing, 1 with itself.

    >>> cosines(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])).round(3).tolist()
    [[1.0, 0.707, 0.0], [0.707, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    exact = changes.astype(np.float64)
    products = np.einsum("id,jd->ij", exact, exact)
    lengths = np.sqrt(np.diag(products))
    scale = np.outer(lengths, lengths)
    made = np.divide(products, scale, out=np.zeros_like(products), where=scale > 0).clip(-1, 1)
    np.fill_diagonal(made, 1.0)
    return np.asarray(made)
