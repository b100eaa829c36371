"""What an auction decides: who trains, what each is paid, what is still missing, who stands by."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.market.bids import Bids
from coterie.market.ranking import Ids, Money
from coterie.market.task import Amount, Task
from coterie.market.valuation import required_samples


@dataclass(frozen=True, eq=False)
class Award:
    """The outcome of an auction. A task that cannot be filled has winners too, and says what is missing."""

    task: Task
    mechanism: str
    winners: Ids
    """Best first."""
    payments: Money
    """In the order of the winners."""
    standby: Ids
    """Those who lost but hold something required, best first: who may come in for a winner that drops out."""
    scores: NDArray[np.float64]
    """For each bidder what it was ranked by."""
    held: NDArray[np.int64]
    """For each class the samples that the winners hold."""
    spent: Amount
    """What the winners asked for together; the planning budget limits this."""

    @classmethod
    def of(
        cls, task: Task, bids: Bids, mechanism: str, winners: Ids, payments: Money, order: Ids, scores: NDArray[np.float64]
    ) -> Award:
        """Sums up a decision; `order` is the ranking of all who were let in."""
        lost = np.ones(len(bids), dtype=bool)
        lost[winners] = False
        useful = required_samples(task, bids.counts) > 0
        held = np.asarray(bids.counts[winners].sum(axis=0), dtype=np.int64).ravel()
        asked = bids.prices[winners] if payments.dtype == np.int64 else bids.prices[winners].astype(np.float64)
        return cls(task, mechanism, winners, payments, order[(lost & useful)[order]], scores, held, total(asked))

    @property
    def unmet(self) -> Mapping[int, int]:
        """The samples that are still missing, by class; empty where all quotas are met."""
        missing = np.maximum(self.task.quotas - self.held, 0)
        return {int(d): int(missing[d]) for d in np.flatnonzero(missing)}

    @property
    def coverage(self) -> NDArray[np.float64]:
        """For each class the share of its quota that the winners fill; 1 where nothing is required."""
        return np.minimum(1.0, np.where(self.task.required, self.held / np.maximum(self.task.quotas, 1), 1.0))

    @property
    def paid(self) -> Amount:
        """What the winners are paid together."""
        return total(self.payments)

    @property
    def overrun(self) -> Amount:
        """By how much the payments exceed the planning budget: what truthfulness costs."""
        return 0 if self.task.budget is None else max(0, self.paid - self.task.budget)

    def summary(self) -> Mapping[str, Any]:
        """The outcome in a few plain values."""
        return {
            "mechanism": self.mechanism,
            "winners": len(self.winners),
            "spent": self.spent,
            "paid": self.paid,
            "overrun": self.overrun,
            "unmet": dict(self.unmet),
        }


def total(amounts: Money) -> Amount:
    """Adds up money: exactly if whole, else rounded once."""
    return int(amounts.sum()) if amounts.dtype == np.int64 else math.fsum(amounts.tolist())
