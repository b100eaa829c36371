"""The budget-feasible auction: everybody at the same rate, as many as the budget carries (Singer, 2010)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.market.award import Award
from coterie.market.bids import Bids
from coterie.market.ranking import Ids, Money, first_place, money
from coterie.market.task import Amount, Task
from coterie.market.valuation import required_samples

Worth = NDArray[np.int64] | NDArray[np.float64]
"""For each bidder what it is worth to the buyer."""


def proportional_share(task: Task, bids: Bids, value: ArrayLike | None = None, *, name: str = "proportional-share") -> Award:
    """Buys value at the lowest price per unit, paying at most the budget.

    Rank by price per value. Take the longest beginning of the ranking whose last price c_k is within its share of the
    budget, c_k ≤ B·v_k / Σ_{j≤k} v_j. Pay each winner v_i · min(B / Σ v, c_{k+1} / v_{k+1}), its critical bid.
    Truthful, individually rational, never above the budget. Not a constant factor from the best set: with one very
    valuable client another rule can do better by far. It stops for no quota, since stopping early would not be
    truthful; the award says what is covered. Bids over the reserve price are refused, and no payment exceeds it.

    Args:
        task: What is asked for; its budget must be set.
        bids: Who offers what.
        value: For each bidder what it is worth, known to the network owner. None: its samples in required classes.
        name: What the award calls the mechanism.

    >>> task = Task(quotas=[50], budget=30, reserve_price=20)
    >>> award = proportional_share(task, Bids(prices=[5, 8, 12], counts=[[20], [20], [20]]))
    >>> award.winners.tolist(), award.payments.tolist()
    ([0, 1], [12, 12])
    """
    if task.budget is None:
        raise ValueError(f"task: {name} divides the budget, so the task must have one")
    worth = value_of(task, bids, value)
    prices = money(task, bids)
    order, rate = by_rate(task, prices, worth)
    count = _affordable(prices[order].tolist(), worth[order].tolist(), task.budget)
    winners = order[:count]
    payments = _payments(task, prices, worth, rate, order, count)
    return Award.of(task, bids, name, winners, payments, order, per_price(worth, prices))


def value_of(task: Task, bids: Bids, value: ArrayLike | None) -> Worth:
    """Returns what each bidder is worth, by default its samples in required classes."""
    if value is None:
        return required_samples(task, bids.counts)
    worth = np.asarray(value)
    if worth.shape != (len(bids),):
        raise ValueError(f"value: one number a bidder is needed, {len(bids)}, not an array of shape {worth.shape}")
    if not (np.isfinite(worth) & (worth >= 0)).all():
        raise ValueError("value: every bidder's value must be a finite number from 0")
    return worth


def by_rate(task: Task, prices: Money, worth: Worth) -> tuple[Ids, NDArray[np.float64]]:
    """Returns those worth something and under the reserve price, cheapest per unit first, and everybody's price per unit."""
    rate = np.divide(prices, worth, out=np.full(len(prices), np.inf), where=worth > 0)
    let_in = np.flatnonzero((prices <= task.reserve_price) & (worth > 0))
    return let_in[np.argsort(rate[let_in], kind="stable")], rate


def _affordable(prices: list[Amount], worth: list[Amount], budget: Amount) -> int:
    """Counts the winners. Plain numbers, because products of whole money and samples outgrow 64 bits."""
    sum_of_worth: Amount = 0
    for count, (price, own) in enumerate(zip(prices, worth, strict=True)):
        sum_of_worth += own
        if price * sum_of_worth > budget * own:
            return count
    return len(prices)


def _payments(task: Task, prices: Money, worth: Worth, rate: NDArray[np.float64], order: Ids, count: int) -> Money:
    """Returns the winners' critical bids: within their share of the budget, and ahead of the first loser."""
    winners = order[:count].tolist()
    budget, own = task.budget or 0, dict(zip(winners, worth[order[:count]].tolist(), strict=True))
    everything = sum(own.values())
    paid = np.zeros(count, prices.dtype)
    for row, i in enumerate(winners):
        share = budget * own[i] // everything if prices.dtype == np.int64 else budget * own[i] / everything
        paid[row] = min(share, ahead_of(order[count:], i, own[i], rate, prices.dtype == np.int64, task.reserve_price))
    return np.maximum(paid, prices[order[:count]])


def highest_winning(task: Task, bids: Bids) -> Money:
    """Returns for each bidder the highest price with which it would win, below 0 where none would.

    With a higher price a bidder stands further down, behind more that is bought, so whether it wins is a matter of one
    threshold, which is bisected: exactly in whole money, to the last bit or two in other money.
    """
    worth, prices = value_of(task, bids, None), money(task, bids)
    order, rate = by_rate(task, prices, worth)
    who, whole, reserve = np.arange(len(bids)), prices.dtype == np.int64, task.reserve_price
    place = np.full(len(bids), len(order))
    place[order] = np.arange(len(order))
    bought = np.append(0, np.cumsum(worth[order])).astype(object)
    bar, own = np.append(rate[order], np.inf), worth.astype(object)

    def wins(price: Money) -> NDArray[np.bool_]:
        at = np.divide(price, worth, out=np.full(len(bids), np.inf), where=worth > 0)

        def ahead(there: Ids) -> NDArray[np.bool_]:
            return np.asarray((at < bar[there]) | ((at == bar[there]) & (who < np.append(order, len(bids))[there])))

        stands = first_place(np.zeros_like(who), np.full_like(who, len(order)), ahead)
        before = bought[stands] - np.where(place < stands, own, 0)
        within = price.astype(object) * (before + own) <= (task.budget or 0) * own
        return np.asarray((worth > 0) & within.astype(bool))

    low, high = np.full(len(bids), -1, prices.dtype), np.full(len(bids), reserve, prices.dtype)
    low = np.where(wins(high), high, np.where(wins(np.zeros_like(high)), 0, low))
    open_ = (low >= 0) & (low < high)
    for _ in range(int(reserve).bit_length() + 1 if whole else 100):
        middle = np.where(open_, low + (high - low) // 2 if whole else (low + high) / 2, low)
        good = wins(middle)
        low, high = np.where(open_ & good, middle, low), np.where(open_ & ~good, middle, high)
    return low


def ahead_of(losers: Ids, who: int, own: Amount, rate: NDArray[np.float64], whole: bool, reserve: Amount) -> Amount:
    """Returns the highest price up to the reserve with which a bidder ranks ahead of the first of some losers."""
    if not len(losers):
        return reserve
    first, limit = int(losers[0]), float(rate[losers[0]])
    if not whole:
        return min(limit * own, reserve)
    price = min(int(limit * own) + 2, int(reserve))
    while price / own > limit or (price / own == limit and who > first):
        price -= 1
    return price


def per_price(worth: Worth, prices: Money) -> NDArray[np.float64]:
    """What each bidder is ranked by, higher is better: value per price, infinite where something is free."""
    free = np.where(worth > 0, np.inf, 0.0)
    return np.divide(worth, prices, out=free, where=prices > 0)
