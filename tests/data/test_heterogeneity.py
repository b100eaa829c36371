import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

import coterie.data as data
from coterie.data.heterogeneity import feature_skew, gini, mean_js_distance, measure
from tests.oracles import partitions as plain


def dataset(y, classes, x=None):
    x = np.zeros((len(y), 1)) if x is None else x
    return data.Dataset.of("toy", x, y, x[:1], y[:1], classes=classes)


@given(
    holder=st.lists(st.integers(0, 5), min_size=1, max_size=60),
    classes=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
@settings(max_examples=80, deadline=None)
def test_measures_are_those_of_plain_loops(holder, classes, seed):
    y = np.random.default_rng(seed).integers(classes, size=len(holder))
    toy = dataset(y, classes)
    partition = data.Partition.of(holder, 6, "by hand")
    found = measure(partition, toy)
    expected = plain.measures([partition[k].tolist() for k in range(6)], y.tolist(), classes)
    assert (found.entropy, found.sparsity, found.js, found.size_gini) == pytest.approx(expected, abs=1e-7)
    assert found.empty_clients == sum(size == 0 for size in partition.sizes)


def test_the_distance_is_scipys_default():
    rows = np.random.default_rng(0).dirichlet(np.full(7, 0.3), 300)
    expected = np.mean([jensenshannon(rows[i], rows[j]) for i in range(300) for j in range(i)])
    assert mean_js_distance(rows) == pytest.approx(expected, abs=1e-9)
    assert mean_js_distance(rows, block=37) == pytest.approx(expected, abs=1e-9)


def test_single_class_clients_give_the_anchor_of_the_tables():
    y = np.arange(1000) % 10
    found = measure(data.Partition.of(np.arange(1000) % 1000, 1000, "by hand"), dataset(y, 10))
    assert found.js == pytest.approx(0.9 * np.sqrt(np.log(2)) * 1000 / 999, abs=1e-9)
    assert (found.entropy, found.sparsity) == (0.0, 9.0)


def test_a_regression_has_sizes_only():
    found = measure(data.iid().split(data.regression(clients=5), 4, 1), data.regression(clients=5))
    assert np.isnan([found.entropy, found.sparsity, found.js]).all() and found.size == 100


def test_another_dataset_is_refused():
    digits = data.load("digits")
    partition = data.iid().split(digits, 10, 1)
    with pytest.raises(ValueError, match="made of other data"):
        measure(partition, data.synthetic(clients=10))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20))
def test_gini_is_half_the_relative_mean_difference(sizes):
    values = np.array(sizes)
    total = values.sum()
    expected = np.abs(values[:, None] - values).sum() / (2 * len(values) * total) if total else 0.0
    assert gini(values) == pytest.approx(expected)


def test_feature_skew_sees_looks_and_not_labels():
    dice = np.random.default_rng(0)
    y, style = dice.integers(2, size=2000), dice.integers(4, size=2000)
    x = dice.normal(size=(2000, 3)) + 3 * np.eye(4)[style][:, :3]
    toy = dataset(y, 2, x)
    by_style = data.Partition.of(style, 4, "by hand")
    mixed = data.Partition.of(dice.permutation(style), 4, "by hand")
    assert feature_skew(by_style, toy, x) > 5 * feature_skew(mixed, toy, x)
    by_label = data.Partition.of(2 * y + dice.integers(2, size=2000), 4, "by hand")
    assert feature_skew(by_label, toy, x) < 0.15


def test_a_thousand_clients_are_measured_within_a_second():
    from time import process_time

    rows = np.random.default_rng(0).dirichlet(np.full(10, 0.5), 1000)
    started = process_time()
    mean_js_distance(rows)
    assert process_time() - started < 3, "a second on a quiet machine; see benchmarks/partition.py"
