import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie.data as data
from coterie.data.splits import label_quota


@pytest.fixture(scope="module")
def digits():
    return data.load("digits")


@given(clients=st.integers(1, 300), holdout=st.sampled_from([0.0, 0.1, 0.2, 0.5]), seed=st.integers(0, 50), own=st.booleans())
@settings(max_examples=25, deadline=None)
def test_a_client_splits_what_it_holds_and_nothing_else(digits, clients, holdout, seed, own):
    partition = data.dirichlet(0.3).split(digits, clients, seed)
    cut = data.split_clients(digits, partition, holdout=holdout, test="own" if own else "shares", seed=seed)
    for client in range(clients):
        parts = [cut.train[client], cut.holdout[client], *([cut.test[client]] if own else [])]
        assert np.array_equal(np.sort(np.concatenate(parts)), np.sort(partition[client]))
        assert len(cut.train[client]) >= min(1, len(partition[client]))
        if not own:
            n = len(partition[client])
            assert len(cut.train[client]) == max(int((1 - holdout) * n + 1e-9), 1)
    assert cut.test_of == ("train" if own else "test")


def test_a_clients_split_depends_on_its_own_samples_only(digits):
    holder = np.arange(len(digits)) % 10
    swapped = np.where(holder == 9, 8, np.where(holder == 8, 9, holder))
    one, two = (data.split_clients(digits, data.Partition.of(h, 10, "by hand"), seed=5) for h in (holder, swapped))
    for client in range(8):
        assert np.array_equal(one.train[client], two.train[client]) and np.array_equal(one.test[client], two.test[client])
    assert np.array_equal(one.train[8], two.train[9])


def test_tests_by_shares_follow_the_clients_labels_without_repeats(digits):
    partition = data.dirichlet(0.5).split(digits, 20, 3)
    cut = data.split_clients(digits, partition, seed=3)
    shares = partition.counts(digits.y, 10) / partition.sizes[:, None]
    for client in range(20):
        chosen = cut.test[client]
        assert len(np.unique(chosen)) == len(chosen) <= 200
        found = np.bincount(digits.y_test[chosen], minlength=10)
        assert np.abs(found - shares[client] * len(chosen)).max() <= 1


@given(
    counts=st.lists(st.integers(0, 100), min_size=1, max_size=8),
    room=st.integers(0, 60),
    size=st.integers(0, 250),
)
def test_quotas_fit_and_are_in_proportion(counts, room, size):
    counts = np.array(counts)
    quota = label_quota(counts, np.full(len(counts), room), size)
    assert (quota <= room).all() and quota.sum() <= size
    if counts.sum() and quota.sum():
        assert np.abs(quota - counts / counts.sum() * quota.sum()).max() <= 1
    if counts.sum() and (counts / counts.sum() * size <= room).all() and room:
        assert quota.sum() == size


def test_natural_clients_are_judged_on_their_own_test_samples():
    writers = data.synthetic(clients=12, seed=4)
    partition = data.natural().split(writers, 7, 2)
    cut = data.split_clients(writers, partition)
    for client in range(7):
        owner = writers.owners[partition[client][0]]
        assert np.array_equal(cut.test[client], np.flatnonzero(writers.owners_test == owner))


def test_a_regression_is_judged_on_what_its_clients_hold():
    task = data.regression(clients=5)
    cut = data.split_clients(task, data.iid().split(task, 4, 1))
    assert cut.test_of == "train" and cut.test.sizes.tolist() == [20] * 4


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"holdout": 1.0}, "holdout"),
        ({"holdout": -0.1}, "holdout"),
        ({"holdout": float("nan")}, "holdout"),
        ({"test": "own", "test_fraction": 1.5}, "test_fraction"),
        ({"test": "some"}, "must be 'shares'"),
        ({"test": "owners"}, "natural partition"),
    ],
)
def test_bad_settings_are_refused(digits, settings, said):
    with pytest.raises(ValueError, match=said):
        data.split_clients(digits, data.iid().split(digits, 10), **settings)


def test_another_dataset_is_refused(digits):
    with pytest.raises(ValueError, match="other data"):
        data.split_clients(data.synthetic(clients=10), data.iid().split(digits, 10))
