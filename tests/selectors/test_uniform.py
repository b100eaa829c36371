import numpy as np
import pytest
from scipy.stats import chisquare

from coterie.selectors import Uniform
from coterie.testing import Toy


def chosen(selector, toy, rounds):
    return np.concatenate([selector.choose(toy.view(t).towards("choose"), None) for t in range(1, rounds + 1)])


def test_everyone_alike():
    toy = Toy(clients=6, seed=1)
    counts = np.bincount(chosen(Uniform(2), toy, 3_000), minlength=6)
    assert chisquare(counts).pvalue > 0.001


def test_one_at_a_time_by_size():
    toy = Toy(clients=6, seed=1)
    counts = np.bincount(chosen(Uniform(1, by_size=True), toy, 6_000), minlength=6)
    assert chisquare(counts, 6_000 * toy.roster.share()).pvalue > 0.001


def test_all_present_where_fewer_are_than_asked_for():
    toy = Toy(clients=4)
    assert Uniform(9).choose(toy.view(1), None).tolist() == [0, 1, 2, 3]


def test_clients_without_samples_come_last():
    toy = Toy(clients=4)
    toy.roster = toy.roster.with_columns(size=[0, 5, 0, 5])
    assert Uniform(2, by_size=True).choose(toy.view(1), None).tolist() == [1, 3]
    assert len(Uniform(3, by_size=True).choose(toy.view(1), None)) == 3


def test_refuses_an_empty_round():
    with pytest.raises(ValueError, match="per_round: must be a whole number from 1, not 0"):
        Uniform(0)
