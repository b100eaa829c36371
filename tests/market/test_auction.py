import os
from itertools import product

import numpy as np
import pytest
from hypothesis import given

from coterie.market import Bids, Task, clear
from tests.market.markets import asking, bids_of, markets, random_market, scale_of, task_of

MARKETS = int(os.environ.get("COTERIE_MARKETS", "60"))
"""How many random markets are searched for a profitable lie."""


def outcome(market, auction=clear):
    """Payments by winner."""
    award = auction(task_of(market), bids_of(market), scale=scale_of(market))
    return dict(zip(award.winners.tolist(), award.payments.tolist(), strict=True))


def complaint(market, auction=clear):
    """Says how an auction breaks its word: every bidder tries every whole price up to two above the reserve."""
    for i, cost in enumerate(market.prices):
        by_price = [outcome(asking(market, i, price), auction).get(i) for price in range(market.reserve + 3)]
        wins = [paid is not None for paid in by_price]
        if wins != sorted(wins, reverse=True):
            return "not monotone"
        if any(paid is not None and paid < price for price, paid in enumerate(by_price)):
            return "not individually rational"
        if any(paid is not None and paid != sum(wins) - 1 for paid in by_price):
            return "not critical"
        gains = [0 if paid is None else paid - cost for paid in by_price]
        if cost < len(gains) and max(gains) > gains[cost]:
            return "not truthful"
    return None


def test_nobody_gains_by_another_bid():
    for number in range(MARKETS):
        market = random_market(np.random.default_rng(number))
        assert complaint(market) is None, market


def pays_the_bid(task, bids, scale):
    award = clear(task, bids, scale=scale)
    return type(award)(**{**vars(award), "payments": bids.prices[award.winners]})


def pays_one_more(task, bids, scale):
    award = clear(task, bids, scale=scale)
    return type(award)(**{**vars(award), "payments": award.payments + 1})


def forgets_the_budget_in_payments(task, bids, scale):
    award = clear(task, bids, scale=scale)
    free = clear(Task(**{**vars(task), "budget": None}), bids, scale=scale)
    paid = dict(zip(free.winners.tolist(), free.payments.tolist(), strict=True))
    payments = [paid.get(i, bids.prices[i]) for i in award.winners.tolist()]
    return type(award)(**{**vars(award), "payments": np.array(payments, dtype=np.int64)})


def takes_the_dearest_last(task, bids, scale):
    award = clear(task, bids, scale=scale)
    keep = award.winners[bids.prices[award.winners] > 0]
    return type(award)(**{**vars(award), "winners": keep, "payments": award.payments[bids.prices[award.winners] > 0]})


@pytest.mark.parametrize(
    ("auction", "says"),
    [
        (pays_the_bid, "not critical"),
        (pays_one_more, "not critical"),
        (forgets_the_budget_in_payments, "not critical"),
        (takes_the_dearest_last, "not monotone"),
    ],
)
def test_the_search_finds_planted_defects(auction, says):
    assert any(complaint(random_market(np.random.default_rng(number)), auction) == says for number in range(60))


@pytest.mark.parametrize(("bidders", "budget"), [*product([1, 2, 3], [None, 0, 6, 9]), (4, None), (4, 9)])
def test_every_profile_of_eight_prices_is_truthful(bidders, budget):
    counts = [[4, 0], [0, 4], [3, 3], [4, 0]][:bidders]
    task = Task(quotas=[5, 3], budget=budget, reserve_price=6, price_weight=0.125, reputation_weight=0.5)
    table = {}
    for prices in product(range(8), repeat=bidders):
        award = clear(task, Bids(prices=list(prices), reputations=[0, 0.5, 0.25, 0][:bidders], counts=counts))
        table[prices] = dict(zip(award.winners.tolist(), award.payments.tolist(), strict=True))
    for costs, honest in table.items():
        for i, lie in product(range(bidders), range(8)):
            lying = table[(*costs[:i], lie, *costs[i + 1 :])]
            gain = honest[i] - costs[i] if i in honest else 0
            assert gain >= 0
            assert gain >= (lying[i] - costs[i] if i in lying else 0), (costs, i, lie)


@given(markets())
def test_winners_are_those_of_the_plain_algorithm(market):
    award = clear(task_of(market), bids_of(market), scale=scale_of(market))
    assert award.winners.tolist() == market.winners(market.prices)
    held = np.array(market.counts)[award.winners].sum(axis=0)
    assert award.held.tolist() == held.tolist()
    assert award.unmet == {d: r - int(held[d]) for d, r in enumerate(market.quotas) if held[d] < r}
    assert award.spent == sum(market.prices[i] for i in award.winners) <= market.budget
    assert award.paid >= award.spent
    assert award.overrun == max(0, award.paid - market.budget)


@given(markets())
def test_standby_are_the_useful_losers_best_first(market):
    award = clear(task_of(market), bids_of(market), scale=scale_of(market))
    required = [d for d, quota in enumerate(market.quotas) if quota]
    useful = {i for i, row in enumerate(market.counts) if any(row[d] for d in required)}
    under = {i for i, price in enumerate(market.prices) if price <= market.reserve}
    assert set(award.standby.tolist()) == (useful & under) - set(award.winners.tolist())
    keys = [(-market.score(i, market.prices[i]), market.prices[i], i) for i in award.standby.tolist()]
    assert keys == sorted(keys)


def test_ties_go_to_the_lower_bid_then_to_the_smaller_id():
    task = Task(quotas=[1], reserve_price=10, reputation_weight=0.5, price_weight=0.125)
    bids = Bids(prices=[4, 2, 2], reputations=[0.5, 0, 0], counts=[[1], [1], [1]])
    assert clear(task, bids).scores.tolist() == [0.75, 0.75, 0.75]
    assert clear(task, bids).winners.tolist() == [1]


def test_what_nobody_needs_wins_nothing():
    task = Task(quotas=[5, 0], reserve_price=10)
    award = clear(task, Bids(prices=[0, 3], counts=[[0, 99], [5, 0]]))
    assert award.winners.tolist() == [1] and award.standby.tolist() == []


def test_a_bid_over_the_reserve_is_refused_whatever_it_brings():
    award = clear(Task(quotas=[5], reserve_price=10), Bids(prices=[11, 10], counts=[[5], [1]]))
    assert award.winners.tolist() == [1] and award.payments.tolist() == [10] and award.unmet == {0: 4}


def test_who_cannot_be_replaced_is_paid_the_reserve():
    award = clear(Task(quotas=[5], reserve_price=10), Bids(prices=[2, 3], counts=[[3], [3]]))
    assert award.payments.tolist() == [10, 10]


@pytest.mark.parametrize("mechanism", ["critical", "proportional-share"])
def test_a_market_without_bidders_leaves_everything_unmet(mechanism):
    award = clear(
        Task(quotas=[5, 2], budget=9, reserve_price=10), Bids(prices=[], counts=np.empty((0, 2))), mechanism=mechanism
    )
    assert len(award.winners) == 0 and award.unmet == {0: 5, 1: 2} and award.paid == 0
    assert award.coverage.tolist() == [0, 0]


def test_an_unknown_mechanism_is_refused():
    with pytest.raises(ValueError, match="'vcg' is none of critical, proportional-share"):
        clear(Task(quotas=[1], reserve_price=1), Bids(prices=[1], counts=[[1]]), mechanism="vcg")
