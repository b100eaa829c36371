"""Models count by how much they help: FedFomo (Zhang et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from coterie.federation import View
from coterie.mixing import Mixing, rows_to_one
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.rules import Aggregator


@dataclass(frozen=True)
class Fomo(Aggregator):
    """Weighs each model by how far it lowers one's own loss, for how far away it lies (Zhang et al., 2021).

    w_ij ∝ max(0, (L_i(θ_i) − L_i(θ_j)) / ‖θ_j − θ_i‖), where θ_i is the model that i had before training and L_i the loss on
    its hold-out samples; then θ_i ← θ_i + Σ_j w_ij (θ_j − θ_i). Who finds no better model keeps its own from before.

    The source's server chooses whose models a client is sent; here any rule of neighbors does. Where there is a server
    and one model, nobody's loss could decide, and all count alike.
    """

    def weigh(self, view: View, plan: Plan, replies: Replies, state: Any) -> Mixing:
        heard = plan.support(replies.clients)
        if plan.route != "peers" or not heard.nnz:
            return rows_to_one(heard)
        pairs = heard.tocoo()
        clients = np.unique(pairs.row)
        before = np.full(heard.shape[0], np.nan)
        before[clients] = view.ask.losses(clients, plan.keeps[clients])
        after = view.ask.losses(pairs.row, pairs.col, among=replies)
        ends = zip(pairs.col.tolist(), plan.keeps[pairs.row].tolist(), strict=True)
        far = np.array([_distance(replies.models[theirs], view.models[ours]) for theirs, ours in ends])
        gain = np.divide(before[pairs.row] - after, far, out=np.zeros(len(far)), where=far > 0)
        weights = np.maximum(np.nan_to_num(gain, nan=0.0), 0.0)
        return rows_to_one(sparse.csr_array((weights, (pairs.row, pairs.col)), shape=heard.shape))


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.sqrt(np.square(one - other, dtype=np.float64).sum()))
