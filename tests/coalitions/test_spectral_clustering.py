import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from coterie.coalitions.spectral_clustering import _by_graph, coinciding, halved, normalized, spectral_clustering
from tests.oracles import full_covariance

AFFINITIES = ("rbf", "raw", "cosine", "neighbors")


def planted(groups, each, dims, noise, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.repeat(np.arange(groups), each))
    return truth, rng.normal(size=(groups, dims))[truth] + noise * rng.normal(size=(groups * each, dims))


@pytest.mark.parametrize("affinity", AFFINITIES)
def test_well_separated_groups_are_found(affinity):
    truth, points = planted(10, 12, 40, 0.1)
    labels = spectral_clustering(points, 10, np.random.default_rng(0), affinity)
    assert adjusted_rand_score(truth, labels) == 1.0


@pytest.mark.parametrize("affinity", ["rbf", "cosine", "neighbors"])
def test_landmarks_find_the_groups_that_the_whole_graph_finds(affinity):
    truth, points = planted(12, 100, 40, 0.3)
    labels = spectral_clustering(points, 12, np.random.default_rng(0), affinity, dense_limit=500)
    assert adjusted_rand_score(truth, labels) > 0.95


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 30),
    st.integers(1, 12),
    st.integers(1, 4),
    st.sampled_from(AFFINITIES),
    st.sampled_from([2000, 3]),
)
def test_exactly_so_many_groups_that_leave_nobody_out(seed, count, groups, dims, affinity, dense_limit):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, dims))[rng.integers(0, count, count)]
    labels = spectral_clustering(points, groups, rng, affinity, dense_limit=dense_limit)
    assert len(labels) == count
    assert np.unique(labels).tolist() == list(range(min(groups, count)))
    places, _ = coinciding(normalized(points) if affinity != "raw" else points)
    if places.max() + 1 >= groups:
        assert all(len(np.unique(labels[places == p])) == 1 for p in range(places.max() + 1))


def test_clients_with_one_model_stay_together():
    _, points = planted(5, 8, 10, 0.2)
    points[[3, 17, 30, 39]] = points[3]
    labels = spectral_clustering(points, 5, np.random.default_rng(0))
    assert len(np.unique(labels[[3, 17, 30, 39]])) == 1


def test_coinciding_points_weigh_as_much_as_if_each_were_there():
    rng = np.random.default_rng(4)
    points = np.sort(rng.normal(size=(7, 2)), axis=0) * 2
    times = np.array([1, 4, 2, 1, 3, 1, 2])
    everyone = np.repeat(points, times, axis=0)
    found = np.repeat(_by_graph(points, times.astype(float), 3, rng, "raw", 0.7), times, axis=0)
    basis, _ = np.linalg.qr(found)
    np.testing.assert_allclose(basis @ basis.T, full_covariance.random_walk_span(everyone, 3, 0.7), atol=1e-8)


def test_points_on_a_line_through_zero_make_two_places_and_are_halved():
    """A model of one coordinate, scaled to length 1, is 1 or -1, with rounding errors."""
    points = np.array([[x] for x in (3.6, -3.6, 0.7, 3.61, -1e-3, 5)]) * np.linspace(1, 1.3, 6)[:, np.newaxis]
    labels = spectral_clustering(points, 4, np.random.default_rng(0))
    assert labels.tolist() == [0, 1, 2, 3, 1, 3]


def test_initial_models_of_zero_are_alike_and_harmless():
    with np.errstate(all="raise"):
        all_alike = spectral_clustering(np.zeros((6, 3)), 3, np.random.default_rng(0))
        labels = spectral_clustering(np.vstack([np.zeros((3, 3)), np.eye(3)]), 3, np.random.default_rng(0))
    assert all_alike.tolist() == [0, 0, 1, 2, 2, 2]
    assert len(np.unique(labels[:3])) == 1
    assert np.unique(labels).tolist() == [0, 1, 2]


def test_halving_takes_the_largest_in_the_order_of_its_members():
    assert halved(np.array([5, 5, 5, 5, 2, 5]), 3).tolist() == [0, 0, 0, 1, 2, 1]
    assert np.bincount(halved(np.zeros(10, int), 4)).tolist() == [3, 2, 3, 2]


def test_coinciding_tolerates_rounding_only():
    points = np.array([[1.0, 2.0], [1.0 + 1e-12, 2.0], [1.0 + 1e-6, 2.0], [0.0, 0.0]])
    places, first = coinciding(points)
    assert places.tolist() == [0, 0, 1, 2]
    assert first.tolist() == [0, 2, 3]


def test_nobody_is_no_group():
    assert spectral_clustering(np.empty((0, 3)), 4, np.random.default_rng(0)).tolist() == []
