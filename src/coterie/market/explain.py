"""Why each bidder won or lost, and what it would have had to ask."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.market.auction import Mechanism
from coterie.market.bids import Bids
from coterie.market.payments import critical_bids
from coterie.market.proportional import by_rate, highest_winning, proportional_share
from coterie.market.ranking import Money, Ranking, money
from coterie.market.task import Amount, Task
from coterie.market.valuation import Scale, data_value, required_samples
from coterie.market.walk import Walk, walk

VERDICTS = (
    "won",
    "asked more than the reserve price",
    "holds no sample of a required class",
    "brought nothing that was still needed",
    "did not fit what the planning budget left",
    "came after all quotas were met",
    "asked more for what it holds than its share of the budget",
)


@dataclass(frozen=True)
class Reason:
    """One bidder's part in an auction."""

    bidder: int
    value: float
    """What its data is worth, V, unscaled."""
    reputation: float
    bid: Amount
    score: float
    rank: int | None
    """From 1; None for one who was not let in."""
    verdict: str
    critical: Amount | None
    """The highest bid with which it would have won, the others' bids as they are; None where none would."""
    payment: Amount

    @property
    def sentence(self) -> str:
        """The same in words."""
        place = "unranked" if self.rank is None else f"rank {self.rank}"
        would = "no bid would have won" if self.critical is None else f"bids up to {self.critical:g} win"
        won = f", paid {self.payment:g}" if self.verdict == VERDICTS[0] else ""
        return f"Bidder {self.bidder} {self.verdict}{won} ({place}, score {self.score:.4g}, bid {self.bid:g}; {would})."


@dataclass(frozen=True, eq=False)
class Explanation:
    """Everybody's part in an auction, as columns by bidder."""

    value: NDArray[np.float64]
    reputation: NDArray[np.float64]
    bid: Money
    score: NDArray[np.float64]
    rank: NDArray[np.intp]
    """From 1; 0 for one who was not let in."""
    verdict: NDArray[np.intp]
    """Which of `VERDICTS`."""
    critical: Money
    """Below 0 where no bid would have won."""

    def __getitem__(self, bidder: int) -> Reason:
        won, critical = self.verdict[bidder] == 0, self.critical[bidder].item()
        return Reason(
            bidder=bidder,
            value=self.value[bidder].item(),
            reputation=self.reputation[bidder].item(),
            bid=self.bid[bidder].item(),
            score=self.score[bidder].item(),
            rank=self.rank[bidder].item() or None,
            verdict=VERDICTS[self.verdict[bidder]],
            critical=None if critical < 0 else critical,
            payment=critical if won else 0,
        )

    def __len__(self) -> int:
        return len(self.bid)


def explain(task: Task, bids: Bids, *, mechanism: Mechanism = "critical", scale: Scale = "none") -> Explanation:
    """Explains the auction that `clear` runs.

    >>> task = Task(quotas=[100], budget=70, reserve_price=50, price_weight=0.01)
    >>> why = explain(task, Bids(prices=[10, 20, 30], counts=[[60], [60], [60]]))
    >>> print(why[2].sentence)
    Bidder 2 came after all quotas were met (rank 3, score 0.3, bid 30; bids up to 19 win).
    """
    if mechanism == "proportional-share":
        return _explain_shares(task, bids)
    ranking = Ranking.of(task, bids, scale)
    way = walk(ranking)
    rank = np.zeros(len(bids), np.intp)
    rank[ranking.ids] = np.arange(len(ranking)) + 1
    return Explanation(
        value=data_value(task, bids.counts),
        reputation=np.asarray(bids.reputations),
        bid=money(task, bids),
        score=ranking.scores,
        rank=rank,
        verdict=_verdicts(way, len(bids)),
        critical=critical_bids(way, bids),
    )


def _explain_shares(task: Task, bids: Bids) -> Explanation:
    award, prices, worth = proportional_share(task, bids), money(task, bids), required_samples(task, bids.counts)
    order, _ = by_rate(task, prices, worth)
    rank = np.zeros(len(bids), np.intp)
    rank[order] = np.arange(len(order)) + 1
    verdict = np.full(len(bids), 6, np.intp)
    verdict[worth == 0] = 2
    verdict[prices > task.reserve_price] = 1
    verdict[award.winners] = 0
    value = data_value(task, bids.counts)
    critical = highest_winning(task, bids)
    critical[award.winners] = award.payments
    return Explanation(value, np.asarray(bids.reputations), prices, award.scores, rank, verdict, critical)


def _verdicts(way: Walk, bidders: int) -> NDArray[np.intp]:
    """Returns for each bidder which of the verdicts it got."""
    ranking = way.ranking
    places = np.where(np.arange(len(ranking)) < way.end, 3, 5)
    places[way.refused] = 4
    places[np.diff(ranking.held.indptr) == 0] = 2
    places[way.taken] = 0
    verdict = np.full(bidders, 1, np.intp)
    verdict[ranking.ids] = places
    return verdict
