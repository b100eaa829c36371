import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans

import coterie.data as data
from coterie.data.clusters import clusters_of
from coterie.data.log_dirichlet import log_gamma_draws, normalized
from coterie.data.two_level import deal_cells
from tests.oracles import partitions as plain


@pytest.fixture(scope="module")
def digits():
    return data.load("digits")


def test_it_draws_what_the_algorithm_draws_sample_by_sample():
    """Moments of what clients hold, over many seeds: one multinomial a cell against one draw a sample."""
    clients, seeds, alpha, beta = 5, 150, 0.7, 0.4
    dice = np.random.default_rng(1)
    cluster, y = dice.integers(2, size=120), dice.integers(3, size=120)
    moments = np.zeros((2, seeds, 2))
    for seed in range(seeds):
        one, two = (np.random.default_rng([seed, kind]) for kind in (0, 1))
        ours = deal_cells(cluster, y, np.full((2, 3), alpha), np.full((2, 3), beta), clients, one)
        pi, phi = two.dirichlet(np.full(clients, alpha), 2), two.dirichlet(np.full(clients, beta), (2, 3))
        theirs = np.array(plain.two_level(cluster, y, pi, phi, clients, two))
        for kind, holder in enumerate((ours, theirs)):
            held = np.zeros((clients, 3))
            np.add.at(held, (holder, y), 1)
            moments[kind, seed] = (held.sum(axis=1) ** 2).mean(), (held**2).mean()
    error = np.sqrt(moments.var(axis=1).sum(axis=0) / seeds)
    assert (np.abs(moments[0].mean(axis=0) - moments[1].mean(axis=0)) < 4 * error).all()


def test_weights_do_not_underflow_where_concentrations_are_tiny():
    dice = np.random.default_rng(0)
    for _ in range(20):
        logs = log_gamma_draws(np.full(1000, 0.1), dice) + log_gamma_draws(np.full(1000, 0.01), dice)
        weights = normalized(logs)
        assert np.isfinite(logs).all() and weights.sum() == pytest.approx(1)
    assert (np.random.default_rng(0).standard_gamma(0.001, 1000) == 0).mean() > 0.3, "plain draws do underflow"


def test_log_gammas_are_gammas():
    draws = np.exp(log_gamma_draws(np.full(200_000, 0.5), np.random.default_rng(3)))
    assert draws.mean() == pytest.approx(0.5, rel=0.02) and draws.var() == pytest.approx(0.5, rel=0.05)


def test_large_concentrations_tend_to_iid(digits):
    scheme = data.two_level(4, alpha=1e6, beta=1e6)
    found = data.measure(scheme.split(digits, 5, 1), digits)
    assert found.entropy > np.log(10) - 0.03 and found.sparsity == 0 and found.size_gini < 0.05
    tilted = data.measure(data.two_level(4, alpha=0.1, beta=0.05).split(digits, 5, 1), digits)
    assert tilted.entropy < found.entropy - 0.3


def test_clusters_follow_looks_and_the_second_level_labels(digits):
    """With β large, clients differ by cluster but not by label within a cluster."""
    clients, cluster = 4, clusters_of(digits.x.reshape(len(digits), -1), 3, np.random.default_rng(0))
    holder = deal_cells(cluster, digits.y, np.full((3, 10), 0.5), np.full((3, 10), 1e7), clients, np.random.default_rng(4))
    by_cluster = chi2_contingency(_counts(holder, cluster)).pvalue
    largest = np.bincount(cluster).argmax()
    inside = cluster == largest
    labels = _counts(holder[inside], digits.y[inside])
    by_label = chi2_contingency(labels[labels.sum(axis=1) > 30][:, labels.sum(axis=0) > 30]).pvalue
    assert by_cluster < 1e-6 and by_label > 1e-3


def _counts(rows, columns):
    table = np.zeros((rows.max() + 1, columns.max() + 1), dtype=int)
    np.add.at(table, (rows, columns), 1)
    return table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]


@given(
    sizes=st.lists(st.integers(0, 30), min_size=2, max_size=12).filter(lambda sizes: sum(sizes) > 0),
    least=st.integers(0, 8),
    seed=st.integers(0, 99),
)
@settings(max_examples=60, deadline=None)
def test_repair_is_that_of_plain_loops_and_moves_no_more_than_it_must(sizes, least, seed):
    from coterie.data.sizes import top_up

    holder = np.repeat(np.arange(len(sizes)), sizes)
    dice = np.random.default_rng(seed)
    if least * len(sizes) > sum(sizes):
        with pytest.raises(ValueError, match="min_size"):
            top_up(holder, len(sizes), least, dice)
        return
    mended = top_up(holder, len(sizes), least, dice)
    assert np.bincount(mended, minlength=len(sizes)).tolist() == plain.top_up(sizes, least)
    assert (mended != holder).sum() == sum(max(least - size, 0) for size in sizes)


def test_min_size_mends_what_tiny_concentrations_break(digits):
    broken = data.two_level(5, alpha=0.1, beta=0.01).split(digits, 60, 1)
    mended = data.two_level(5, alpha=0.1, beta=0.01, min_size=4).split(digits, 60, 1)
    assert broken.sizes.min() == 0 and mended.sizes.min() == 4


@pytest.mark.parametrize(
    "clusterer",
    [KMeans(4, n_init=1), AgglomerativeClustering(4), DBSCAN(eps=1.1), lambda rows: rows[:, 0] > 0],
    ids=["k-means", "ward", "dbscan", "function"],
)
def test_any_clusterer_will_do(clusterer, digits):
    scheme = data.two_level(4, clusterer=clusterer)
    one, two = scheme.split(digits, 10, 1), scheme.split(digits, 10, 1)
    assert np.array_equal(one.order, two.order) and len(one.order) == len(digits)


def test_any_features_will_do(digits):
    import torch

    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 5))
    for features in ("pca", "random-convolution", module, lambda x: x.reshape(len(x), -1), digits.x[:, 0, 0]):
        assert len(data.two_level(3, features=features).split(digits, 10, 1).order) == len(digits)


def test_concentrations_may_differ_by_cluster_and_class(digits):
    even = data.two_level(3, alpha=1e6, beta=1e6, clusterer=lambda rows: np.arange(len(rows)) % 3)
    beta = np.full((3, 10), 1e6)
    beta[:, 7] = 0.01
    skewed = data.two_level(3, alpha=(1e6,) * 3, beta=beta, clusterer=even.clusterer)
    shares = skewed.split(digits, 10, 1).counts(digits.y, 10)
    assert shares[:, 7].max() > 30 and shares[:, 6].max() < 30
    table = data.two_level(3, alpha=np.full((3, 10), 0.1), beta=1e6, clusterer=even.clusterer)
    assert len(table.split(digits, 10, 1).order) == len(digits)


@pytest.mark.parametrize("kernels", ["Prescott", "Haswell", "Zen"])
def test_other_processors_give_the_same_partition(kernels, digits, tmp_path):
    """Features and clusters are sums of floats, which differ in their last digits from one processor's kernels to another's."""
    code = (
        "import hashlib, coterie.data as data\n"
        "parted = data.two_level(5).split(data.load('digits'), 40, 1)\n"
        "print(hashlib.sha256(parted.order.tobytes()).hexdigest())"
    )
    there = {**os.environ, "OPENBLAS_CORETYPE": kernels, "XDG_CACHE_HOME": str(tmp_path)}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=there, check=True).stdout
    assert said.strip() == hashlib.sha256(data.two_level(5).split(digits, 40, 1).order.tobytes()).hexdigest()


def test_it_never_builds_samples_times_clients():
    import tracemalloc

    y = np.arange(200_000) % 10
    x = np.random.default_rng(0).normal(size=(200_000, 2)).astype(np.float32)
    big = data.Dataset.of("big", x, y, x[:9], y[:9], classes=10)
    scheme = data.two_level(5, features=big.x, clusterer=lambda rows: (rows[:, 0] > 0).astype(int))
    tracemalloc.start()
    partition = scheme.split(big, 5000, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(partition.order) == 200_000
    assert peak < 60e6, "samples × clients would be 1 GB even as bits"
