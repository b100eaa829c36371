import numpy as np
import pytest
from hypothesis import given

from coterie.market import Bids, Task, clear
from coterie.market.payments import by_running_sums, critical_bids, critical_payments
from coterie.market.ranking import Ranking
from coterie.market.rewalk import by_walking
from coterie.market.walk import walk
from coterie.market.within_budget import first_at_most
from tests.market.markets import bids_of, markets, scale_of, task_of


def walk_of(market):
    return walk(Ranking.of(task_of(market), bids_of(market), scale_of(market)))


@pytest.mark.parametrize("by", [by_walking, by_running_sums])
@given(market=markets())
def test_whole_payments_are_the_highest_price_that_wins(by, market):
    way = walk_of(market)
    if len(way.winners):
        assert by(way).tolist() == [market.critical_whole(i) for i in way.ranking.ids[way.winners].tolist()]


@pytest.mark.parametrize("by", [by_walking, by_running_sums])
@given(market=markets(whole=False))
def test_other_payments_are_the_supremum(by, market):
    way = walk_of(market)
    if len(way.winners):
        expected = [market.critical(i) for i in way.ranking.ids[way.winners].tolist()]
        np.testing.assert_allclose(by(way), expected, rtol=0, atol=1e-9)


@given(markets())
def test_every_losers_critical_bid_is_the_highest_price_that_would_have_won(market):
    critical = critical_bids(walk_of(market), bids_of(market))
    assert critical.tolist() == [market.critical_whole(i) for i in range(len(market.prices))]


def crowd(number):
    """A market of some dozen bidders, in a budget regime where walks without a winner part from the walk with it."""
    rng = np.random.default_rng(number)
    n, k = int(rng.integers(10, 80)), int(rng.integers(1, 9))
    held = rng.random((n, k)) < rng.choice([0.15, 0.3, 0.6])
    prices = [
        rng.integers(10, 40, n),
        np.minimum(rng.lognormal(3, 1.5, n).astype(int), 5000),
        np.where(rng.random(n) < 0.2, rng.integers(50, 400, n), rng.integers(10, 40, n)),
        rng.integers(1, 4, n),
    ][rng.integers(4)]
    settings = {
        "quotas": rng.integers(1, 60, k),
        "reserve_price": int(prices.max() + rng.integers(0, 20)),
        "price_weight": float(rng.choice([0.001, 0.003, 0.01, 0.1])),
    }
    bids = Bids(prices=prices, reputations=rng.random(n) * 3, counts=rng.integers(0, 12, (n, k)) * held)
    needed = int(walk(Ranking.of(Task(**settings), bids, "none")).spent[-1])
    return Task(**settings, budget=int(needed * rng.choice([0.2, 0.5, 0.8, 0.95, 1, 1.02]))), bids


def test_running_sums_and_walking_agree_on_larger_markets():
    compared = 0
    for number in range(400):
        task, bids = crowd(number)
        way = walk(Ranking.of(task, bids, "none"))
        if len(way.winners):
            assert (by_walking(way) == by_running_sums(way)).all(), number
            compared += len(way.winners)
    assert compared > 1000


def test_payments_by_a_million_prices_are_found_without_trying_them():
    """Rounding of scores far above prices: the payment is still the last price that wins, and the next one loses."""
    task = Task(quotas=[10], reserve_price=10**9, price_weight=1e-12, reputation_weight=1.0)
    bids = Bids(prices=[10**6, 10**6 + 7, 10**6 + 9], reputations=[1000, 1000, 1000], counts=[[10], [10], [10]])
    paid = int(clear(task, bids).payments[0])
    again = [
        clear(task, Bids(prices=[p, 10**6 + 7, 10**6 + 9], reputations=[1000] * 3, counts=[[10]] * 3)) for p in (paid, paid + 1)
    ]
    assert [award.winners.tolist() == [0] for award in again] == [True, False]


def test_many_winners_are_paid_by_running_sums_and_few_by_walking(monkeypatch):
    task, bids = crowd(0)
    way = walk(Ranking.of(task, bids, "none"))
    few = critical_payments(way)
    monkeypatch.setattr("coterie.market.payments.FEW", 0)
    assert (critical_payments(way) == few).all()


@given(markets())
def test_first_at_most_equals_a_loop(market):
    values = np.array(market.prices)
    start, limit = np.arange(len(values)), values[::-1]
    found = first_at_most(values, start, limit)
    expected = [next((j for j in range(i, len(values)) if values[j] <= limit[i]), len(values)) for i in range(len(values))]
    assert found.tolist() == expected
