from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings

from coterie.market import Bids, Task, clear
from coterie.market.rivals import exhaustive, fair, naive, rrafl
from tests.market.markets import bids_of, markets, scale_of, task_of
from tests.market.test_proportional import paid, sales


@given(sales())
def test_fair_is_truthful_and_within_the_budget(sale):
    task, prices, samples = sale
    assert sum(paid(task, prices, samples, fair).values()) <= task.budget
    for i, cost in enumerate(prices):
        tried = [paid(task, [*prices[:i], price, *prices[i + 1 :]], samples, fair) for price in range(11)]
        gains = [outcome[i] - cost if i in outcome else 0 for outcome in tried]
        assert gains[cost] == max(gains)


def test_fair_pays_the_first_losers_price_per_sample():
    task = Task(quotas=[99], budget=30, reserve_price=20)
    award = fair(task, Bids(prices=[2, 4, 9, 30], counts=[[4], [4], [3], [9]]))
    assert award.winners.tolist() == [0, 1] and award.payments.tolist() == [12, 12]


def test_rrafl_buys_reputation_not_data():
    task = Task(quotas=[99], budget=30, reserve_price=20)
    award = rrafl(task, Bids(prices=[2, 4, 5], reputations=[0, 1, 0.5], counts=[[40], [1], [1]]))
    assert award.winners.tolist() == [1, 2] and award.paid == 30 and award.mechanism == "rrafl"


@given(markets())
def test_naive_takes_the_cheapest_while_the_budget_lasts(market):
    award = naive(task_of(market), bids_of(market))
    expected, spent = [], 0
    for i in sorted(range(len(market.prices)), key=lambda i: (market.prices[i], i)):
        if market.prices[i] > market.reserve or spent + market.prices[i] > market.budget:
            break
        expected.append(i)
        spent += market.prices[i]
    assert award.winners.tolist() == expected and award.paid == award.spent == spent


@settings(max_examples=40)
@given(markets(bidders=7))
def test_exhaustive_finds_the_best_of_all_sets(market):
    award = exhaustive(task_of(market), bids_of(market), scale_of(market))
    best = None
    for size in range(len(market.prices) + 1):
        for chosen in combinations(range(len(market.prices)), size):
            held = [sum(market.counts[i][d] for i in chosen) for d in range(len(market.quotas))]
            prices = [market.prices[i] for i in chosen]
            feasible = all(h >= r for h, r in zip(held, market.quotas, strict=True)) and sum(prices) <= market.budget
            if feasible and max(prices, default=0) <= market.reserve:
                utility = sum(market.score(i, market.prices[i]) for i in chosen)
                best = utility if best is None else max(best, utility)
    assert (best is None) == (len(award.winners) == 0)
    if best is not None:
        np.testing.assert_allclose(award.scores[award.winners].sum(), best, atol=1e-12)
        assert not award.unmet


def test_exhaustive_refuses_what_would_take_for_ever():
    with pytest.raises(ValueError, match="at most 22 bidders"):
        exhaustive(Task(quotas=[1], reserve_price=1), Bids(prices=[1] * 23, counts=[[1]] * 23))


def catalog_market(seed, concentration, budget, clients=500):
    """Classes 0, 1, 4, 8 and 9 of ten are wanted; each class's 6000 samples are dealt by a Dirichlet distribution."""
    rng = np.random.default_rng(seed)
    dealt = [rng.multinomial(6000, rng.dirichlet(np.full(clients, concentration))) for _ in range(10)]
    quotas, weights = np.zeros(10, int), np.ones(10)
    quotas[[0, 1, 4, 8, 9]], weights[[4, 8, 9]] = [900, 900, 750, 150, 600], [1.5, 3, 1.5]
    task = Task(quotas=quotas, weights=weights, budget=budget, reserve_price=4000)
    prices, reputations = rng.integers(1000, 4001, clients), rng.uniform(0.2, 1, clients)
    return task, Bids(prices=prices, reputations=reputations, counts=np.stack(dealt, axis=1))


def test_on_markets_like_the_sources_fewer_clients_do_than_by_reputation_and_by_price():
    runs = []
    for seed in range(10):
        for concentration, budget in [(0.1, 120_000), (0.3, 120_000), (0.5, 160_000), (1.0, 160_000)]:
            task, bids = catalog_market(seed, concentration, budget)
            ours = clear(task, bids, scale="market")
            counts = [len(award.winners) for award in (ours, rrafl(task, bids), naive(task, bids))]
            runs.append([*counts, len(fair(task, bids).winners), ours.paid / budget, not ours.unmet])
    ours, reputation, price, quality, paid_share, filled = np.mean(runs, axis=0)
    assert max(ours, quality) < reputation < price
    assert paid_share <= 1.3 and filled >= 0.9
