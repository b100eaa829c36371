"""One's own model counts a fixed share, whoever else is heard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from coterie.aggregators.mean import Mean
from coterie.federation import View
from coterie.mixing import Merge, Mixing, rows_to_one
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.roster import Roster
from coterie.rules import Aggregator

ALIKE = Mean()


@dataclass(frozen=True)
class OwnShare(Aggregator):
    """Where there is no server, a client's own model counts `share`; another rule divides the rest among those it hears.

    Rules of listening should be compared at the same share: it often matters more than whom one listens to. Where the
    other rule's map is no mixing, or where there is a server, it stays as it is.
    """

    share: float = 0.5
    """What one's own model counts."""
    inner: Aggregator = ALIKE
    """How the others are weighed."""

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ValueError(f"share: must be in [0, 1], not {self.share!r}")

    @property
    def wants(self) -> frozenset[str]:  # type: ignore[override]  # those of the other rule
        """The facts that the other rule needs."""
        return self.inner.wants

    def begin(self, roster: Roster) -> Any:
        return self.inner.begin(roster)

    def learn(self, view: View, plan: Plan, replies: Replies, state: Any) -> Any:
        return self.inner.learn(view, plan, replies, state)

    def weigh(self, view: View, plan: Plan, replies: Replies, state: Any) -> Merge:
        merge = self.inner.weigh(view, plan, replies, state)
        if plan.route != "peers" or not isinstance(merge, Mixing):
            return merge
        own = sparse.csr_array(plan.support(replies.clients).multiply(_diagonal(replies, len(plan.keeps))), dtype=np.float64)
        weights = merge.weights.tocsr()
        others = rows_to_one(weights - weights.multiply(own)).weights
        return rows_to_one(sparse.csr_array(self.share * own + (1 - self.share) * others))


def _diagonal(replies: Replies, clients: int) -> sparse.csr_array:
    """Clients × replies: each client's own."""
    ones = np.ones(len(replies))
    return sparse.csr_array((ones, (replies.clients, np.arange(len(replies)))), shape=(clients, len(replies)))
