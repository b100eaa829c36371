"""Schemes by label: what each promises of its counts, and draws compared with plain loops."""

import numpy as np
import pytest

import coterie.data as data
from coterie.data.inner_dirichlet import take_turns
from tests.oracles import partitions as plain


@pytest.fixture(scope="module")
def toy():
    y = np.repeat(np.arange(10), 600)
    return data.Dataset.of("toy", np.zeros((6000, 1)), y, np.zeros((1, 1)), y[:1], classes=10)


def counts(scheme, toy, clients=100, seed=1):
    return scheme.split(toy, clients, seed).counts(toy.y, 10)


def test_shards_hold_equal_parts_of_few_classes(toy):
    held = counts(data.shards(2), toy)
    assert (held.sum(axis=1) == 60).all() and set(np.unique(held)) <= {0, 30, 60}


@pytest.mark.parametrize("choice", ["random", "deterministic", "first-deterministic"])
def test_pathological_clients_hold_exactly_so_many_classes(choice, toy):
    held = counts(data.pathological(3, choice), toy) > 0
    assert (held.sum(axis=1) == 3).all() and held.any(axis=0).all()
    if choice != "random":
        assert held[np.arange(100), np.arange(100) % 10].all()


def test_classes_that_nobody_drew_are_handed_out(toy):
    for seed in range(30):
        held = counts(data.pathological(2), toy, clients=6, seed=seed)
        assert held.sum() == 6000 and ((held > 0).sum(axis=1) == 2).all()


def test_dis_pfl_plants_groups_and_leaves_samples_over(toy):
    held = counts(data.dis_pfl(classes=3, samples=12, groups=2), toy)
    assert (held.sum(axis=1) == 12).all() and ((held > 0).sum(axis=1) <= 3).all()
    assert not held[::2, 5:].any() and not held[1::2, :5].any()
    few = data.dis_pfl(alpha=0.1, samples=20, groups=3).split(toy, 30, 1)
    assert few.sizes.tolist() == [20] * 30
    for wrong, message in [
        ({"samples": 61}, "samples: 100 clients with 61 each"),
        ({"groups": 11}, "groups: 11 cannot be made"),
    ]:
        with pytest.raises(ValueError, match=message):
            data.dis_pfl(**wrong).split(toy, 100, 1)
    with pytest.raises(ValueError, match="6 classes a client, but 'toy' has 5"):
        data.dis_pfl(classes=6, groups=2).split(toy, 100, 1)


def test_larger_concentrations_are_milder(toy):
    for kind in (data.dirichlet, data.inner_dirichlet, data.dis_pfl, data.dirichlet_total):
        low, high = (data.measure(kind(alpha).split(toy, 100, 1), toy).entropy for alpha in (0.1, 1000.0))
        assert low < high - 0.5 and high > np.log(10) - 0.15


def test_a_balanced_dirichlet_has_evener_sizes(toy):
    spread = [np.std([data.dirichlet(0.3, balanced=b).split(toy, 30, s).sizes for s in range(10)]) for b in (True, False)]
    assert spread[0] < 0.9 * spread[1]


def test_dirichlet_entropies_are_those_of_the_drawn_shares(toy):
    """A client's expected label shares at one sample a draw are Gamma ratios: compared with draws that need no data."""
    found = np.mean([data.measure(data.dirichlet(0.5, draws="sample").split(toy, 100, s), toy).entropy for s in range(8)])
    dice = np.random.default_rng(0)
    shares = dice.standard_gamma(0.5, (8 * 100, 10)) * 600 / 50
    expected = np.mean([_entropy(dice.poisson(row)) for row in shares])
    assert found == pytest.approx(expected, abs=0.05)


def _entropy(row):
    p = row[row > 0] / max(row.sum(), 1)
    return -(p * np.log(p)).sum()


def test_turns_are_those_of_plain_loops():
    """Compared where classes run out: the mean holdings of each client and class over many seeds."""
    y = np.array([0] * 30 + [1] * 6 + [2] * 12)
    shares = np.array([[0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.6, 0.4, 0.0]])
    sizes = np.array([20, 12, 16])
    with np.errstate(divide="ignore"):
        logs = np.log(shares)
    ours, theirs = np.zeros((300, 3, 3)), np.zeros((300, 3, 3))
    for seed in range(300):
        for into, holder in [
            (ours, take_turns(logs, sizes, y, np.random.default_rng([seed, 1]))),
            (theirs, np.array(plain.take_turns(shares, sizes, y, np.random.default_rng([seed, 2])))),
        ]:
            np.add.at(into[seed], (holder, y), 1)
    error = np.sqrt((ours.var(axis=0) + theirs.var(axis=0)) / 300) + 1e-9
    assert (ours.sum(axis=2) == sizes).all() and (theirs.sum(axis=2) == sizes).all()
    assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 4.5 * error).all()


def test_dis_pfl_clients_have_equal_sizes_and_few_classes(toy):
    held = counts(data.dis_pfl(classes=2), toy)
    assert (held.sum(axis=1) == 60).all()
    assert np.median((held > 0).sum(axis=1)) == 2


def test_inner_dirichlet_keeps_given_sizes(toy):
    sizes = tuple(range(1, 101))
    assert counts(data.inner_dirichlet(0.2, sizes), toy).sum(axis=1).tolist() == list(sizes)


def test_a_distribution_follows_its_table(toy):
    table = np.random.default_rng(0).uniform(1, 5, (10, 4))
    held = counts(data.distribution(labels=2, table=table, leftovers="remainders"), toy, clients=20)
    assert ((held > 0).sum(axis=1) == 2).all()
    for c in range(10):
        takers = np.flatnonzero(held[:, c])
        assert np.abs(held[takers, c] - table[c] / table[c].sum() * 600).max() <= 1


def test_each_client_gets_what_is_preassigned(toy):
    held = counts(data.distribution(labels=2, law="lognormal", preassigned=5), toy, clients=50)
    assert held[held > 0].min() >= 5 and ((held > 0).sum(axis=1) == 2).all()
