import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie.data as data
from coterie.data.dirichlet_total import smallest_sizes
from tests.oracles import partitions as plain


@given(clients=st.integers(8, 30), classes=st.integers(2, 4), seed=st.integers(0, 500))
@settings(max_examples=25, deadline=None)
def test_sizes_are_those_of_a_general_solver(clients, classes, seed):
    dice = np.random.default_rng(seed)
    q, true = dice.dirichlet(np.full(classes, 0.5), clients), dice.uniform(50, 200, clients)
    room = q.T @ true
    x = smallest_sizes(q, room)
    assert (x >= 0).all() and np.abs(q.T @ x - room).max() < 1e-3 * room.sum()
    assert np.linalg.norm(x) <= np.linalg.norm(plain.smallest_sizes(q, room)) * 1.001
    assert np.linalg.norm(x) <= np.linalg.norm(true) + 1e-6


def test_the_concentration_is_total():
    """Measured on FedCor's own setting: the largest class holds 0.89 of a client's samples, and entropy is 0.26 nats."""
    y = np.arange(60_000) % 10
    toy = data.Dataset.of("toy", np.zeros((60_000, 1)), y, np.zeros((1, 1)), y[:1], classes=10)
    found = [data.dirichlet_total(0.2).split(toy, 100, seed) for seed in range(5)]
    counts = np.concatenate([one.counts(y, 10) for one in found])
    largest = (counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1)).mean()
    assert largest == pytest.approx(0.894, abs=0.03)
    assert np.mean([data.measure(one, toy).entropy for one in found]) == pytest.approx(0.256, abs=0.08)


def test_shares_that_fit_no_sizes_still_give_every_sample_a_holder():
    y = np.arange(1000) % 10
    toy = data.Dataset.of("toy", np.zeros((1000, 1)), y, np.zeros((1, 1)), y[:1], classes=10)
    for clients in (1, 2, 5):
        assert len(data.dirichlet_total(0.01).split(toy, clients, 1).order) == 1000
