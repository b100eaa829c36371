"""Better models count more: AFIND+'s weights by losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Float
from scipy import sparse

from coterie.federation import View
from coterie.mixing import Mixing
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.rules import Aggregator

AT_RECEIVER = 200
"""Up to so many clients 'auto' probes at the receiver's model, as the paper does."""


@dataclass(frozen=True)
class Boltzmann(Aggregator):
    """Weighs a reply by exp(−F̃/T), its smoothed loss over a temperature (AFIND+, Eqs. 15 and 16).

    F̃_j = (1−γ) F_j(after its training) + γ F_j(before), on j's own hold-out samples: γ weighs the loss before, as printed.
    With the probe "sender" the loss before is that of the model that j trained from; with "receiver" that of the model
    of who weighs. Who does not answer a question about another's model is weighed by what it told of its own.

    The loss is its sender's, on its sender's data: low losses are those of clients with easy data, not of friends.
    """

    wants: ClassVar[frozenset[str]] = frozenset({"loss_before", "loss_after"})

    temperature: float = 1.0
    """T; high values weigh alike."""
    gamma: float = 0.9
    """γ, how much the loss before training counts."""
    probe: Literal["sender", "receiver", "auto"] = "sender"
    """At whose model the loss before is taken; "auto": as the paper, at the receiver's, up to 200 clients."""

    def __post_init__(self) -> None:
        if not 0 < self.temperature < np.inf:
            raise ValueError(f"temperature: must be a number above 0, not {self.temperature!r}")
        if not 0 <= self.gamma <= 1:
            raise ValueError(f"gamma: must be in [0, 1], not {self.gamma!r}")

    def weigh(self, view: View, plan: Plan, replies: Replies, state: Any) -> Mixing:
        support = plan.support(replies.clients).tocoo()
        before = replies.facts["loss_before"][support.col]
        if at_receiver(self.probe, len(view.roster)):
            told = view.ask.losses(replies.clients[support.col], plan.keeps[support.row]) if support.nnz else before
            before = np.where(np.isnan(told), before, told)
        smoothed = (1 - self.gamma) * replies.facts["loss_after"][support.col] + self.gamma * before
        weights = boltzmann(smoothed / self.temperature, support.row, support.shape[0])
        return Mixing(sparse.csr_array((weights, (support.row, support.col)), shape=support.shape))


def at_receiver(probe: str, clients: int) -> bool:
    """Whether a probe is taken at the model of who asks.

    >>> at_receiver("auto", 200), at_receiver("auto", 201)
    (True, False)
    """
    return probe == "receiver" or (probe == "auto" and clients <= AT_RECEIVER)


def boltzmann(energy: Float[np.ndarray, " entries"], rows: np.ndarray, count: int) -> Float[np.ndarray, " entries"]:
    """exp(−energy), each row scaled to sum to 1.

    >>> boltzmann(np.array([0.0, 0.0, 5.0]), np.array([0, 0, 1]), 2).tolist()
    [0.5, 0.5, 1.0]
    """
    lowest = np.full(count, np.inf)
    np.minimum.at(lowest, rows, energy)
    raised = np.exp(lowest[rows] - energy)
    return np.asarray(raised / np.bincount(rows, weights=raised, minlength=count)[rows])
