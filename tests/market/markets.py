"""Small markets in every budget regime, with ties, for the tests of this room."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
from hypothesis import strategies as st

from coterie.market import Bids, Task
from tests.oracles.auction import Market


@st.composite
def markets(draw: st.DrawFn, bidders: int = 12, whole: bool = True) -> Market:
    """A market of up to so many bidders; prices that are not whole are quarters, so that sums of them are exact."""
    n, k = draw(st.integers(1, bidders)), draw(st.integers(1, 4))
    top = draw(st.sampled_from([3, 8, 25]))
    prices = draw(st.lists(st.integers(0, top), min_size=n, max_size=n))
    budget = draw(st.one_of(st.just(inf), st.integers(0, sum(prices) + 3), st.integers(0, top)))
    amounts = st.one_of(st.just(0), st.integers(0, 8))
    return Market(
        quotas=[draw(st.integers(1, 12)), *draw(st.lists(st.integers(0, 12), min_size=k - 1, max_size=k - 1))],
        weights=draw(st.lists(st.sampled_from([1.0, 1.5, 3.0]), min_size=k, max_size=k)),
        budget=budget if whole or budget == inf else float(budget),
        reserve=draw(st.integers(2, 30)),
        alpha=draw(st.sampled_from([0, 0.5, 1.0])),
        beta=draw(st.sampled_from([0.01, 0.1, 0.25, 1.0])),
        prices=prices if whole else [price / 4 for price in prices],
        reputations=draw(st.lists(st.sampled_from([0, 0.25, 0.5, 1.0]), min_size=n, max_size=n)),
        counts=draw(st.lists(st.lists(amounts, min_size=k, max_size=k), min_size=n, max_size=n)),
        scaled=draw(st.booleans()),
    )


def random_market(rng: np.random.Generator, bidders: int = 12) -> Market:
    """The same without Hypothesis, for thousands of them: whole money."""
    n, k = int(rng.integers(1, bidders + 1)), int(rng.integers(1, 5))
    prices = rng.integers(0, rng.choice([3, 7, 13]), n)
    held = rng.random((n, k)) < rng.choice([0.3, 0.6, 1.0])
    budgets = [inf, 0.3 * prices.sum(), 0.6 * prices.sum(), prices.sum() + 1, rng.integers(0, 20)]
    budget = budgets[rng.integers(len(budgets))]
    return Market(
        quotas=rng.integers(1, 12, k).tolist(),
        weights=rng.choice([1.0, 1.5, 3.0], k).tolist(),
        budget=budget if budget == inf else int(budget),
        reserve=int(rng.integers(2, 13)),
        alpha=float(rng.choice([0, 0.5, 1.0])),
        beta=float(rng.choice([0.01, 0.1, 0.25, 1.0])),
        prices=prices.tolist(),
        reputations=rng.choice([0, 0.25, 0.5, 1.0], n).tolist(),
        counts=(rng.integers(0, 8, (n, k)) * held).tolist(),
        scaled=bool(rng.random() < 0.5),
    )


def task_of(market: Market) -> Task:
    return Task(
        quotas=np.array(market.quotas),
        weights=np.array(market.weights),
        budget=None if market.budget == inf else market.budget,
        reserve_price=market.reserve,
        reputation_weight=market.alpha,
        price_weight=market.beta,
    )


def bids_of(market: Market) -> Bids:
    return Bids(prices=np.array(market.prices), reputations=np.array(market.reputations), counts=np.array(market.counts))


def scale_of(market: Market) -> str:
    return "market" if market.scaled else "none"


def asking(market: Market, bidder: int, price: float) -> Market:
    """The same market with another price of one bidder."""
    return replace(market, prices=[*market.prices[:bidder], price, *market.prices[bidder + 1 :]])
