"""Auctions to compare with: by reputation per price, by quality per price, cheapest first, and the best set there is."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.market.award import Award
from coterie.market.bids import Bids
from coterie.market.proportional import ahead_of, by_rate, per_price, proportional_share, value_of
from coterie.market.ranking import Money, Ranking, money
from coterie.market.task import Amount, Task
from coterie.market.valuation import Scale

MOST_BIDDERS = 22
"""How many bidders an exhaustive search may have: it looks at 2**22 sets."""


def rrafl(task: Task, bids: Bids) -> Award:
    """Buys reputation at the lowest price per unit (RRAFL: Zhang, Wu and Pan, 2021): proportional share by reputation.

    The paper's own update of reputations is not part of it; they come with the bids.

    >>> task = Task(quotas=[10], budget=30, reserve_price=20)
    >>> award = rrafl(task, Bids(prices=[6, 5, 9], reputations=[1, 0.25, 1], counts=[[5], [5], [5]]))
    >>> award.winners.tolist(), award.payments.tolist()
    ([0, 2], [15, 15])
    """
    return proportional_share(task, bids, np.asarray(bids.reputations), name="rrafl")


def fair(task: Task, bids: Bids, quality: ArrayLike | None = None) -> Award:
    """Buys quality at the lowest price per unit, paying the first loser's price per unit (FAIR: Deng et al., 2021).

    Takes the longest beginning of the ranking for which these payments fit the budget. Where nobody loses, all are
    paid the reserve price if the budget carries that. The paper estimates quality from loss reductions of earlier
    rounds; by default it is what a market knows before training, the samples in required classes.

    >>> task = Task(quotas=[10], budget=30, reserve_price=20)
    >>> award = fair(task, Bids(prices=[6, 5, 9], counts=[[5], [5], [5]]))
    >>> award.winners.tolist(), award.payments.tolist()
    ([1, 0], [9, 9])
    """
    if task.budget is None:
        raise ValueError("task: fair fits payments into the budget, so the task must have one")
    worth, prices = value_of(task, bids, quality), money(task, bids)
    order, rate = by_rate(task, prices, worth)
    count = _within(task.budget, prices[order].tolist(), worth[order].tolist(), task.reserve_price)
    whole, winners = prices.dtype == np.int64, order[:count].tolist()
    paid = [ahead_of(order[count:], i, worth[i].item(), rate, whole, task.reserve_price) for i in winners]
    payments = np.array(paid, dtype=prices.dtype)
    return Award.of(task, bids, "fair", order[:count], payments, order, per_price(worth, prices))


def _within(budget: Amount, prices: list[Amount], worth: list[Amount], reserve: Amount) -> int:
    """Counts whom the budget carries when all are paid the price per unit of the first one left out."""
    if len(prices) * reserve <= budget:
        return len(prices)
    bought: Amount = 0
    count = 0
    for place, (price, own) in enumerate(zip(prices, worth, strict=True)):
        if bought * price > budget * own:
            break
        count, bought = place, bought + own
    return count


def naive(task: Task, bids: Bids) -> Award:
    """Takes the cheapest first as long as the budget lasts, whatever they hold, and pays what they ask.

    >>> task = Task(quotas=[10], budget=12, reserve_price=20)
    >>> award = naive(task, Bids(prices=[6, 5, 9], counts=[[5], [0], [5]]))
    >>> award.winners.tolist(), award.payments.tolist(), dict(award.unmet)
    ([1, 0], [5, 6], {0: 5})
    """
    prices = money(task, bids)
    order = np.argsort(prices, kind="stable")
    order = order[prices[order] <= task.reserve_price]
    within = np.inf if task.budget is None else task.budget
    winners = order[np.cumsum(prices[order]) <= within]
    return Award.of(task, bids, "naive", winners, prices[winners], order, -prices.astype(np.float64))


def exhaustive(task: Task, bids: Bids, scale: Scale = "none") -> Award:
    """Looks at all sets of bidders for the one with the highest sum of scores that fills the quotas within the budget.

    The measure that Algorithm 9 is greedy for (Eq. 5.16 with bids for payments). Pays what winners ask, since nothing
    here is about truthfulness. Without a set that fills all quotas nobody wins.

    >>> task = Task(quotas=[10], budget=16, reserve_price=20, price_weight=0.01)
    >>> award = exhaustive(task, Bids(prices=[6, 5, 9], counts=[[5], [1], [5]]))
    >>> award.winners.tolist(), award.spent
    ([0, 2], 15)
    """
    ranking = Ranking.of(task, bids, scale)
    if len(ranking) > MOST_BIDDERS:
        raise ValueError(
            f"bids: an exhaustive search takes at most {MOST_BIDDERS} bidders under the reserve price, not {len(ranking)}"
        )
    feasible = np.ones(2 ** len(ranking), dtype=bool)
    if task.budget is not None:
        feasible &= _over_sets(ranking.prices) <= task.budget
    for d in np.flatnonzero(task.required).tolist():
        feasible &= _over_sets(ranking.held[:, [d]].toarray().ravel()) >= task.quotas[d]
    best = int(np.argmax(np.where(feasible, _over_sets(ranking.score), -np.inf)))
    chosen = [place for place in range(len(ranking)) if best >> place & 1] if feasible.any() else []
    winners = ranking.ids[chosen]
    return Award.of(task, bids, "exhaustive", winners, ranking.prices[chosen], ranking.ids, ranking.scores)


def _over_sets(values: NDArray[np.float64] | Money) -> NDArray[np.float64]:
    """Returns the sum of values over every set; bit i of a set's number says whether i is in it."""
    sums = np.zeros(1, values.dtype)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums
