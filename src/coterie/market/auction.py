"""An auction from end to end: rank the bidders, choose the winners, work out what they are paid."""

from __future__ import annotations

from typing import Literal, get_args

from coterie.market.award import Award
from coterie.market.bids import Bids
from coterie.market.payments import critical_payments
from coterie.market.proportional import proportional_share
from coterie.market.ranking import Ranking
from coterie.market.task import Task
from coterie.market.valuation import Scale
from coterie.market.walk import walk

Mechanism = Literal["critical", "proportional-share"]


def clear(task: Task, bids: Bids, *, mechanism: Mechanism = "critical", scale: Scale = "none") -> Award:
    """Runs the auction of a task.

    "critical" is the source's: Algorithm 9 chooses and winners are paid their critical bids, which may together
    exceed the planning budget. "proportional-share" never pays more than the budget, but buys samples without
    looking at quotas. Money is whole, and every outcome exact, where prices, budget and reserve price all are.

    With `scale="none"` the score adds up data value, reputation and price as the source prints it. Data values are
    mostly far below 1, so weights decide what a score means, and raising them makes critical payments several times
    the budget. `scale="market"` counts data in units of the market's largest value and prices in units of the reserve.

    Two of three equal clients are needed; both are paid what the third asks, the most they could have asked and won:

    >>> task = Task(quotas=[100], budget=70, reserve_price=50, price_weight=0.01)
    >>> bids = Bids(prices=[10, 20, 30], counts=[[60], [60], [60]])
    >>> award = clear(task, bids)
    >>> award.winners.tolist(), award.payments.tolist(), dict(award.unmet), award.overrun
    ([0, 1], [30, 30], {}, 0)
    """
    if mechanism not in get_args(Mechanism):
        raise ValueError(f"mechanism: '{mechanism}' is none of {', '.join(get_args(Mechanism))}")
    if mechanism == "proportional-share":
        return proportional_share(task, bids)
    ranking = Ranking.of(task, bids, scale)
    way = walk(ranking)
    winners = ranking.ids[way.winners]
    return Award.of(task, bids, mechanism, winners, critical_payments(way), ranking.ids, ranking.scores)
