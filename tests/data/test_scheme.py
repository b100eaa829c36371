import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie.data as data


def flat(x):
    return x[:, :3]


QUICK = {
    "two-level": {"clusters": 3, "features": flat},
    "pathological": {"classes": 3},
    "inner-dirichlet": {"alpha": 0.3},
    "distribution": {"labels": None},
}


@pytest.fixture(scope="module")
def samples():
    dice = np.random.default_rng(0)
    y = np.concatenate([np.arange(5), dice.integers(5, size=395)])
    x = dice.normal(size=(400, 6)) + y[:, None]
    return data.Dataset.of("toy", x, y, x[:20], y[:20], classes=5, owners=np.arange(400) % 40, owners_test=np.arange(20))


def scheme(name):
    return data.SCHEMES[name](**QUICK.get(name, {}))


def test_names_are_those_of_files_and_all_are_exported():
    for name, kind in data.SCHEMES.items():
        assert kind.__module__ == "coterie.data." + name.replace("-", "_")
        assert getattr(data, name.replace("-", "_")) is kind
        assert importlib.import_module(kind.__module__).__doc__
    needed = {"iid", "dirichlet", "two-level", "shards", "pathological", "exponential", "linear", "square", "distribution"}
    assert needed | {"quantity", "natural"} <= set(data.SCHEMES)


@pytest.mark.parametrize("name", sorted(data.SCHEMES))
@given(clients=st.integers(5, 40), seed=st.integers(0, 2**32))
@settings(max_examples=8, deadline=None)
def test_every_sample_has_one_holder_and_the_same_seed_gives_the_same_partition(name, samples, clients, seed):
    partition = scheme(name).split(samples, clients, seed)
    again = scheme(name).split(samples, clients, seed)
    assert len(partition) == clients
    assert np.array_equal(partition.order, again.order) and np.array_equal(partition.offsets, again.offsets)
    if name == "natural":
        assert len(partition.order) == 10 * clients
    else:
        assert np.array_equal(np.sort(partition.order), np.arange(400))
    assert partition.scheme == name
    assert partition.fingerprint == samples.fingerprint


@pytest.mark.parametrize("name", sorted(set(data.SCHEMES) - {"exponential", "linear", "square", "natural"}))
def test_shares_are_one_in_m_in_the_mean_over_seeds(name, samples):
    sizes = np.array([scheme(name).split(samples, 8, seed).sizes for seed in range(60)])
    error = sizes.std(axis=0, ddof=1) / np.sqrt(len(sizes))
    assert (np.abs(sizes.mean(axis=0) - 50) <= 4.5 * error + 1e-9).all()


@pytest.mark.parametrize("name", sorted(set(data.SCHEMES) - {"iid", "natural"}))
def test_another_seed_gives_another_partition(name, samples):
    one, two = (scheme(name).split(samples, 20, seed) for seed in (1, 2))
    assert not np.array_equal(one.order, two.order)


@pytest.mark.parametrize("name", sorted(data.SCHEMES))
def test_settings_of_a_partition_can_be_written(name, samples, tmp_path):
    partition = scheme(name).split(samples, 10, 1)
    partition.save(tmp_path / "it.npz")
    again = data.Partition.load(tmp_path / "it.npz")
    assert np.array_equal(partition.order, again.order) and np.array_equal(partition.offsets, again.offsets)
    assert (again.scheme, again.settings, again.seed, again.fingerprint) == (
        partition.scheme,
        partition.settings,
        partition.seed,
        partition.fingerprint,
    )


@pytest.mark.parametrize("name", sorted(data.SCHEMES))
@pytest.mark.parametrize("clients", [0, -3, 401])
def test_impossible_numbers_of_clients_are_refused(name, clients, samples):
    with pytest.raises(ValueError, match="clients"):
        scheme(name).split(samples, clients)


BY_LABEL = sorted(set(data.SCHEMES) - {"iid", "quantity", "natural", "exponential", "linear", "square"})


@pytest.mark.parametrize("name", BY_LABEL)
def test_schemes_by_label_refuse_a_regression_and_absent_classes(name, samples):
    with pytest.raises(ValueError, match="needs labels"):
        scheme(name).split(data.regression(clients=4), 3)
    gap = np.where(samples.y == 2, 3, samples.y)
    absent = data.Dataset.of("gappy", samples.x, gap, samples.x, gap, classes=7)
    with pytest.raises(ValueError, match="label 2, 5, 6"):
        scheme(name).split(absent, 5)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: data.dirichlet(0), "alpha: must be above 0"),
        (lambda: data.dirichlet(-1), "alpha: must be above 0"),
        (lambda: data.dirichlet(float("nan")), "alpha: must be above 0"),
        (lambda: data.dirichlet(draws="other"), "draws: must be 'cut' or 'sample'"),
        (lambda: data.dirichlet(min_size=-1), "min_size: must be a whole number from 0"),
        (lambda: data.dirichlet_total(0), "alpha"),
        (lambda: data.inner_dirichlet(-0.1), "alpha"),
        (lambda: data.dis_pfl(alpha=0), "alpha"),
        (lambda: data.dis_pfl(classes=0), "classes"),
        (lambda: data.quantity(alpha=float("inf")), "alpha"),
        (lambda: data.exponential(spread=0), "spread"),
        (lambda: data.linear(min_size=1.5), "min_size"),
        (lambda: data.square(min_size=-2), "min_size"),
        (lambda: data.shards(0), "per_client"),
        (lambda: data.pathological(0), "classes"),
        (lambda: data.pathological(2, "perhaps"), "choice"),
        (lambda: data.distribution(law="zipf"), "law"),
        (lambda: data.distribution(labels=0), "labels"),
        (lambda: data.distribution(leftovers="nobody"), "leftovers"),
        (lambda: data.distribution(table=[[0, 0], [1, 1]]), "table"),
        (lambda: data.distribution(preassigned=-1), "preassigned"),
        (lambda: data.two_level(clusters=0), "clusters"),
        (lambda: data.two_level(alpha=0), "alpha"),
        (lambda: data.two_level(beta=[0.1, -0.2]), "beta"),
        (lambda: data.two_level(alpha="much"), "alpha"),
        (lambda: data.two_level(min_size=-1), "min_size"),
    ],
)
def test_impossible_settings_are_refused_at_once(make, said):
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize(
    ("make", "clients", "said"),
    [
        (lambda: data.dirichlet(min_size=41), 10, "10 clients with 41 samples each need 410, but there are 400"),
        (lambda: data.two_level(3, min_size=41), 10, "at most 40 each"),
        (lambda: data.linear(min_size=9), 50, "need 450"),
        (lambda: data.shards(5), 100, "need 500 samples"),
        (lambda: data.pathological(6), 10, "has 5"),
        (lambda: data.pathological(1), 4, "cannot hold 5"),
        (lambda: data.pathological(5), 300, "clients drew class"),
        (lambda: data.dis_pfl(classes=6), 10, "has 5"),
        (lambda: data.distribution(labels=2), 3, "do not fit the 5 classes"),
        (lambda: data.distribution(preassigned=50), 10, "hold class"),
        (lambda: data.distribution(table=[[1, 1], [1, 1]]), 10, "table"),
        (lambda: data.inner_dirichlet(sizes=(1, 2)), 3, "sizes"),
        (lambda: data.inner_dirichlet(sizes=(300, 200)), 2, "sizes"),
        (lambda: data.natural(), 41, "have 40 owners"),
        (lambda: data.two_level(3, alpha=(1.0, 2.0)), 5, "does not fit 3 clusters"),
        (lambda: data.two_level(3, beta=((1.0, 2.0),) * 3), 5, "does not fit 3 clusters"),
        (lambda: data.two_level(401), 5, "cannot be made of 400 samples"),
        (lambda: data.two_level(3, features="magic"), 5, "features: must be one of pca"),
        (lambda: data.two_level(3, features=np.full((400, 2), np.nan)), 5, "NaN or infinite, first that of sample 0"),
        (lambda: data.two_level(3, features=np.zeros((399, 2))), 5, "as many rows"),
        (lambda: data.two_level(3, features=lambda x: "no"), 5, "features"),
        (lambda: data.two_level(3, clusterer=3), 5, "clusterer"),
        (lambda: data.two_level(3, clusterer=lambda rows: rows[:10, 0]), 5, "one label for each"),
    ],
)
def test_what_the_data_cannot_give_is_refused_with_the_numbers(make, clients, said, samples):
    with pytest.raises(ValueError, match=said):
        make().split(samples, clients)
