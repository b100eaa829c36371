import numpy as np
import pytest
from hypothesis import given

from coterie.market import Bids, Task, clear
from coterie.market.valuation import data_value, merit, required_samples
from tests.market.markets import bids_of, markets, task_of


@given(markets())
def test_data_value_equals_a_loop_over_classes(market):
    value = data_value(task_of(market), bids_of(market).counts)
    np.testing.assert_allclose(value, [market.value(i) for i in range(len(market.prices))], rtol=1e-15)


def test_a_worked_example():
    task = Task(quotas=[100, 50, 0], weights=[1, 3, 7], reserve_price=1, coverage_weight=2, sufficiency_weight=3)
    counts = Bids(prices=[1, 1], counts=[[200, 0, 9], [10, 25, 0]]).counts
    # C = 1/4 and 1; S = 1/4 and (0.1 + 3·0.5)/4 = 0.4
    np.testing.assert_allclose(data_value(task, counts), [2 * 0.25 * 3 * 0.25, 2 * 1 * 3 * 0.4])
    assert required_samples(task, counts).tolist() == [200, 35]


def test_a_market_scale_makes_the_best_data_worth_one():
    task = Task(quotas=[100], reserve_price=1, reputation_weight=0.5)
    bids = Bids(prices=[1, 1, 1], reputations=[0, 1, 0], counts=[[10], [20], [0]])
    assert merit(task, bids, "none").tolist() == [0.1, 0.7, 0]
    assert merit(task, bids, "market").tolist() == [0.5, 1.5, 0]


def test_a_market_without_any_value_has_a_scale_too():
    task = Task(quotas=[100, 0], reserve_price=1)
    assert merit(task, Bids(prices=[1], counts=[[0, 3]]), "market").tolist() == [0]


def test_an_unknown_scale_is_refused():
    with pytest.raises(ValueError, match="'budget' is none of none, market"):
        clear(Task(quotas=[1], reserve_price=1), Bids(prices=[1], counts=[[1]]), scale="budget")
