import numpy as np
import pytest

import coterie.data as data


@pytest.fixture(scope="module")
def digits():
    return data.load("digits")


@pytest.mark.parametrize(
    ("targets", "scheme"),
    [
        ({"entropy": 1.2}, data.dirichlet(min_size=0)),
        ({"js": 0.5}, data.dirichlet(min_size=0)),
        ({"size_gini": 0.4}, data.quantity(min_size=0)),
        ({"entropy": 1.0, "size_gini": 0.5}, data.two_level(3)),
        ({"entropy": 1.2, "size_gini": 0.3}, data.two_level(10)),
        ({"sparsity": 6.0}, data.inner_dirichlet()),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_targets_are_reached_and_the_scheme_gives_the_same_partition_again(targets, scheme, digits):
    found = data.aim(targets, digits, 40, scheme, seed=1, tolerance=0.02)
    spans = {"entropy": np.log(10), "sparsity": 9, "js": np.sqrt(np.log(2)), "size_gini": 1}
    assert found.reached
    for name, value in targets.items():
        assert abs(getattr(found.found, name) - value) <= 0.02 * spans[name]
        assert found.misses[name] == pytest.approx(getattr(found.found, name) - value)
    again = found.scheme.split(digits, 40, 1)
    assert np.array_equal(again.order, found.partition.order) and again.settings == found.partition.settings


def test_what_cannot_be_reached_says_how_near_it_came(digits):
    found = data.aim({"entropy": 2.3, "size_gini": 0.9}, digits, 40, data.dirichlet(min_size=0), seed=1)
    assert not found.reached and max(map(abs, found.misses.values())) > 0.2
    assert found.tries < 200


@pytest.mark.parametrize(
    ("targets", "scheme", "said"),
    [
        ({}, None, "give at least one"),
        ({"spread": 1}, None, "no measure 'spread'; allowed: entropy"),
        ({"entropy": 2.4}, None, "entropy must be from 0 to 2.303"),
        ({"js": -0.1}, None, "js must be from 0"),
        ({"size_gini": float("nan")}, None, "size_gini must be"),
        ({"entropy": 1.0}, data.iid(), "has no alpha or beta"),
    ],
)
def test_impossible_targets_are_refused(targets, scheme, said, digits):
    with pytest.raises(ValueError, match=said):
        data.aim(targets, digits, 10, scheme)


def test_a_regression_has_no_targets():
    with pytest.raises(ValueError, match="on data with labels"):
        data.aim({"entropy": 1.0}, data.regression(clients=4), 3)
