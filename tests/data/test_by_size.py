"""Schemes by size, and the kernels that they share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie.data as data
from coterie.data.sizes import apportion, cut


@given(weights=st.lists(st.floats(0.01, 100), min_size=1, max_size=30), total=st.integers(0, 500), least=st.integers(0, 5))
def test_apportioned_sizes_are_in_proportion(weights, total, least):
    if least * len(weights) > total:
        with pytest.raises(ValueError, match="min_size"):
            apportion(weights, total, least)
        return
    sizes = apportion(weights, total, least)
    exact = np.array(weights) / np.sum(weights) * total
    assert sizes.sum() == total and sizes.min() >= least
    if exact.min() >= least:
        assert np.abs(sizes - exact).max() < 1 + 1e-9


@given(weights=st.lists(st.floats(0, 10), min_size=1, max_size=30).filter(sum), total=st.integers(0, 500))
def test_cuts_are_floors_of_the_running_sum(weights, total):
    shares = np.array(weights) / np.sum(weights)
    ends = [int(np.floor(sum(shares[: i + 1]) * total + 1e-12)) for i in range(len(shares) - 1)]
    counts = cut(shares, total)
    assert counts.sum() == total and (counts >= 0).all()
    assert np.abs(np.cumsum(counts)[:-1] - ends).max(initial=0) <= 1


@pytest.mark.parametrize(
    ("scheme", "weights"),
    [
        (data.linear(min_size=0), np.arange(1, 51)),
        (data.square(min_size=0), np.arange(1, 51) ** 2),
        (data.exponential(3.0, min_size=0), np.exp(np.linspace(0, 3, 50))),
        (data.iid(), np.ones(50)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_sizes_grow_as_promised_and_labels_are_mixed(scheme, weights):
    digits = data.load("digits")
    partition = scheme.split(digits, 50, 1)
    assert np.abs(partition.sizes - weights / weights.sum() * len(digits)).max() < 1
    large = partition.sizes > 25
    assert (partition.counts(digits.y, 10)[large] > 0).sum(axis=1).mean() > 8


def test_a_thousand_clients_are_possible_with_exponential_sizes():
    digits = data.load("digits")
    assert data.exponential().split(digits, 1000, 1).sizes.min() >= 1


def test_quantities_are_skewed_by_alpha():
    digits = data.load("digits")
    low, high = (data.measure(data.quantity(alpha).split(digits, 50, 1), digits).size_gini for alpha in (0.1, 100))
    assert low > 0.6 and high < 0.1
