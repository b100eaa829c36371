import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.coalitions.k_means import k_means, squared_distances


def spread(points, labels, weights):
    total = 0.0
    for group in np.unique(labels):
        mine = labels == group
        center = np.average(points[mine], axis=0, weights=weights[mine])
        total += (weights[mine] * ((points[mine] - center) ** 2).sum(axis=1)).sum()
    return total


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 6), st.integers(1, 4))
def test_nobody_is_nearer_to_another_center(seed, count, groups, dims):
    rng = np.random.default_rng(seed)
    points, weights = rng.normal(size=(count, dims)), rng.integers(1, 4, count).astype(float)
    labels = k_means(points, groups, rng, weights)
    used = np.unique(labels)
    centers = np.stack([np.average(points[labels == g], axis=0, weights=weights[labels == g]) for g in used])
    own = ((points - centers[np.searchsorted(used, labels)]) ** 2).sum(axis=1)
    np.testing.assert_allclose(own, squared_distances(points, centers).min(axis=1), atol=1e-9)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_no_worse_than_a_plain_search(seed):
    from sklearn.cluster import KMeans

    rng = np.random.default_rng(seed)
    points, weights = rng.normal(size=(60, 2)), rng.integers(1, 4, 60).astype(float)
    theirs = KMeans(5, n_init=10, random_state=0).fit(points, sample_weight=weights).inertia_
    assert spread(points, k_means(points, 5, rng, weights), weights) <= 1.15 * theirs


def test_weights_are_points_in_one_place():
    points, weights = np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([1.0, 1, 1, 100])
    assert k_means(points, 2, np.random.default_rng(0), weights).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    heavy = k_means(np.array([[0.0], [1.0], [2.0]]), 2, np.random.default_rng(0), np.array([1, 1.0, 1000]))
    assert heavy[0] == heavy[1] != heavy[2]


def test_distances_are_never_negative():
    points = np.full((3, 2), 1e8) + np.array([[0.0], [1e-3], [0]])
    assert squared_distances(points, points).min() >= 0
    assert squared_distances(np.array([[0.0, 3]]), np.array([[4.0, 0]]))[0, 0] == pytest.approx(25)


def test_the_same_dice_give_the_same_groups():
    points = np.random.default_rng(1).normal(size=(200, 3))
    one, same = (k_means(points, 7, np.random.default_rng(5), np.ones(200)) for _ in range(2))
    np.testing.assert_array_equal(one, same)
