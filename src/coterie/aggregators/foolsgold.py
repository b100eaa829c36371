"""Those who move alike count less, together as much as one (Fung, Yoon and Beschastnikh, 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Float32
from numpy.typing import NDArray
from scipy import sparse

from coterie.federation import View
from coterie.mixing import Mixing, rows_to_one
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.roster import Roster
from coterie.rules import Aggregator


@dataclass(frozen=True)
class FoolsGold(Aggregator):
    """Gives little weight to clients whose updates, summed over rounds, point the same way (Fung et al., 2020).

    Against many clients of one attacker that push toward one goal. For each client the largest cosine to another's history,
    pardoned where the other is the more suspicious; weight 1 − that, scaled so that the best has 1, then κ·(ln(w/(1−w)) + 0.5)
    clipped to [0, 1]. Keeps a model's worth of numbers for every client that ever replied.

    Where we differ: the source adds up the weighted updates, which among honest clients that are alike goes nowhere, and with
    many who differ goes far; here weights are scaled to sum to 1, as every mixing's. Where all weights are 0, as among IID
    clients, all count alike. Where the source is silent: histories are of the last layer or of everything; here of everything.
    """

    confidence: float = 1.0
    """κ."""

    def __post_init__(self) -> None:
        if not self.confidence > 0:
            raise ValueError(f"confidence: must be a number above 0, not {self.confidence!r}")

    def begin(self, roster: Roster) -> dict[str, NDArray[Any]]:
        return {"clients": np.empty(0, np.intp), "sums": np.empty((0, 0), np.float32)}

    def learn(self, view: View, plan: Plan, replies: Replies, state: Any) -> dict[str, NDArray[Any]]:
        clients, sums = _summed(view, plan, replies, state)
        return {"clients": clients, "sums": sums.astype(np.float32)}

    def weigh(self, view: View, plan: Plan, replies: Replies, state: Any) -> Mixing:
        clients, sums = _summed(view, plan, replies, state)
        worth = weights(sums[np.searchsorted(clients, replies.clients)], self.confidence)
        heard = sparse.csr_array(plan.support(replies.clients), dtype=np.float64)
        lone = np.asarray(heard @ worth).ravel() <= 0
        scaled = sparse.csr_array(heard.multiply(worth[np.newaxis, :]))
        alike = sparse.csr_array(heard.multiply(lone.astype(np.float64)[:, np.newaxis]))
        return rows_to_one(sparse.csr_array(scaled + alike))


def weights(histories: Float[np.ndarray, "replies dim"], confidence: float = 1.0) -> Float[np.ndarray, " replies"]:
    """FoolsGold's weights of summed updates.

    >>> weights(np.array([[1.0, 0, 0], [0, 1, 0], [0.1, 0.1, 1], [0.1, 0.1, 1.01]])).round(2).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    count = len(histories)
    if count < 2:
        return np.ones(count)
    length = np.sqrt(np.einsum("ij,ij->i", histories, histories, dtype=np.float64))
    unit = np.divide(histories, length[:, np.newaxis], out=np.zeros(histories.shape), where=length[:, np.newaxis] > 0)
    like = unit @ unit.T
    np.fill_diagonal(like, 0)  # exactly: what rounding leaves of 1 − 1 would take part in the pardons
    most = like.max(axis=1)
    pardon = np.divide(most[:, np.newaxis], most, out=np.ones_like(like), where=(most > most[:, np.newaxis]) & (most > 0))
    worth = np.clip(1 - (like * pardon).max(axis=1), 0, 1)
    worth = worth / worth.max() if worth.max() > 0 else worth
    worth = np.minimum(worth, 0.99)
    odds = np.maximum(worth / (1 - worth), 1e-300)
    return np.asarray(np.clip(confidence * (np.log(odds) + 0.5), 0, 1))


def _summed(view: View, plan: Plan, replies: Replies, state: Any) -> tuple[NDArray[np.intp], Float32[np.ndarray, "known dim"]]:
    """Every known client, and the sum of its updates with this round's."""
    start = plan.start[np.searchsorted(plan.trainers, replies.clients)]
    clients = np.union1d(state["clients"], replies.clients)
    sums = np.zeros((len(clients), replies.models.shape[1]), np.float32)
    if len(state["clients"]):
        sums[np.searchsorted(clients, state["clients"])] = state["sums"]
    sums[np.searchsorted(clients, replies.clients)] += replies.models - view.models[start]
    return clients, sums
