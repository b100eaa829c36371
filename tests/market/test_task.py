import numpy as np
import pytest

from coterie.market import Task

GOOD = {"quotas": [5, 5], "reserve_price": 40}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"quotas": [0, 0]}, "above 0"),
        ({"quotas": [[5, 5]]}, "a row of numbers"),
        ({"quotas": [5, -1]}, "from 0 to"),
        ({"quotas": [5, 2.5]}, "whole numbers"),
        ({"quotas": [5, float("nan")]}, "whole numbers"),
        ({"quotas": ["5", "5"]}, "whole numbers"),
        ({"weights": [1, 0]}, "weight of every required class"),
        ({"weights": [1, float("inf")]}, "weight of every required class"),
        ({"weights": [1]}, "one weight a class"),
        ({"reserve_price": 0}, "reserve_price must be above 0"),
        ({"reserve_price": float("inf")}, "reserve_price must be a finite amount"),
        ({"reserve_price": "40"}, "reserve_price must be a finite amount"),
        ({"reserve_price": 2**60}, "over 2\\*\\*53"),
        ({"budget": -1}, "budget must be at least 0"),
        ({"budget": float("nan")}, "budget must be a finite amount"),
        ({"budget": True}, "budget must be a finite amount"),
        ({"price_weight": 0}, "price_weight must be a finite number above 0"),
        ({"reputation_weight": -0.1}, "reputation_weight must be a finite number from 0"),
        ({"coverage_weight": float("nan")}, "coverage_weight"),
    ],
)
def test_what_a_task_must_not_be(wrong, says):
    with pytest.raises(ValueError, match=says):
        Task(**{**GOOD, **wrong})


def test_money_is_whole_only_where_every_amount_is():
    assert Task(**GOOD).whole and Task(**GOOD, budget=np.int64(7)).whole
    assert not Task(**GOOD, budget=7.0).whole
    assert not Task(quotas=[5], reserve_price=40.0).whole


def test_an_infinite_budget_is_none():
    assert Task(**GOOD, budget=float("inf")).budget is None


def test_quotas_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        Task(**GOOD).quotas[0] = 1
