import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.market import Bids, Task, clear, proportional_share
from coterie.market.proportional import highest_winning


@st.composite
def sales(draw):
    """Up to six sellers of up to nine samples, and a budget."""
    n = draw(st.integers(1, 6))
    prices = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    samples = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    return Task(quotas=[20], budget=draw(st.integers(0, 40)), reserve_price=draw(st.integers(1, 9))), prices, samples


def paid(task, prices, samples, auction=proportional_share):
    award = auction(task, Bids(prices=prices, counts=[[sample] for sample in samples]))
    return dict(zip(award.winners.tolist(), award.payments.tolist(), strict=True))


@given(sales())
def test_winners_are_paid_the_highest_price_that_wins_and_never_more_than_the_budget(sale):
    task, prices, samples = sale
    now = paid(task, prices, samples)
    assert sum(now.values()) <= task.budget
    for i in range(len(prices)):
        tried = [paid(task, [*prices[:i], price, *prices[i + 1 :]], samples) for price in range(11)]
        winning = [price for price, outcome in enumerate(tried) if i in outcome]
        assert winning == list(range(len(winning)))
        assert all(outcome[i] == winning[-1] for outcome in tried if i in outcome)


@given(sales())
def test_everybody_is_told_the_highest_price_that_wins(sale):
    task, prices, samples = sale
    told = highest_winning(task, Bids(prices=prices, counts=[[sample] for sample in samples])).tolist()
    for i in range(len(prices)):
        wins = [price for price in range(11) if i in paid(task, [*prices[:i], price, *prices[i + 1 :]], samples)]
        assert told[i] == max(wins, default=-1)


@given(sales())
def test_winners_are_the_longest_affordable_beginning(sale):
    task, prices, samples = sale
    able = [i for i in range(len(prices)) if samples[i] and prices[i] <= task.reserve_price]
    able.sort(key=lambda i: (prices[i] / samples[i], i))
    fits = [prices[i] * sum(samples[j] for j in able[: k + 1]) <= task.budget * samples[i] for k, i in enumerate(able)]
    count = fits.index(False) if False in fits else len(able)
    assert list(paid(task, prices, samples)) == able[:count]


def test_money_that_is_not_whole_and_any_measure_of_value():
    task = Task(quotas=[20], budget=10.0, reserve_price=9.0)
    award = proportional_share(task, Bids(prices=[1.5, 4.0, 8.0], counts=[[1], [1], [1]]), value=[1, 2, 0.5])
    assert award.winners.tolist() == [0, 1]
    np.testing.assert_allclose(award.payments, [10 / 3, 20 / 3])
    assert award.mechanism == "proportional-share" and award.scores.tolist() == [1 / 1.5, 0.5, 0.0625]


def test_it_is_cleared_by_its_name_and_says_what_is_covered():
    bids = Bids(prices=[3, 4], counts=[[8, 0], [5, 0]])
    award = clear(Task(quotas=[10, 4], budget=9, reserve_price=9), bids, mechanism="proportional-share")
    assert award.winners.tolist() == [0] and award.unmet == {0: 2, 1: 4} and award.standby.tolist() == [1]


@pytest.mark.parametrize("value", [[1], [1, -1], [1, np.nan]])
def test_a_value_that_is_none_is_refused(value):
    with pytest.raises(ValueError, match="value"):
        proportional_share(Task(quotas=[1], budget=1, reserve_price=1), Bids(prices=[1, 1], counts=[[1], [1]]), value)


def test_without_a_budget_there_is_nothing_to_share():
    with pytest.raises(ValueError, match="must have one"):
        proportional_share(Task(quotas=[1], reserve_price=1), Bids(prices=[1], counts=[[1]]))
