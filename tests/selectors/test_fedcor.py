from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from coterie.aggregators import Mean
from coterie.backbones import SGD
from coterie.recipe import Central, play
from coterie.selectors.fedcor import FedCor
from coterie.testing import check_selector
from tests.oracles import dense_gp
from tests.oracles.quadratic import Quadratic

GROUPS = np.repeat(np.arange(4), 6)


def federation(**settings):
    """Twenty-four clients in four groups, each near a corner of its own."""
    rng = np.random.default_rng(7)
    centers = 3 * np.eye(4)[GROUPS] + 0.01 * rng.normal(size=(24, 4))
    return Quadratic(centers, **{"pace": 0.2, **settings})


def run(selector, rounds, **settings):
    fed = federation(**settings)
    return fed, list(play(Central(SGD(), Mean(), selector), fed, rounds))


def memory(record):
    return record.state["selector"]


def test_it_keeps_the_contract():
    check_selector(FedCor(per_round=3, warmup=2, dims=3, refit_every=2, iterations=20), rounds=9)
    probe = FedCor(per_round=3, warmup=2, refit_every=None, observe="probe", normalize=0.3, iterations=20)
    check_selector(probe, rounds=5)
    check_selector(replace(probe, epsilon=1.0), rounds=5)


def test_warm_up_samples_are_the_changes_of_everybodys_loss():
    fed = federation()
    recipe = Central(SGD(), Mean(), FedCor(per_round=4, warmup=5, dims=4))
    models = [fed.models[0]]
    records = []
    for record in play(recipe, fed, 6):
        records.append(record)
        models.append(fed.models[0])
    losses = np.array([0.5 * ((w - fed.centers) ** 2).sum(axis=1) for w in models])
    state = memory(records[-1])
    np.testing.assert_allclose(state.samples, np.diff(losses, axis=0)[:5])
    assert state.rounds.tolist() == [1, 2, 3, 4, 5]
    assert [fed.asked["losses", t] for t in range(1, 8)] == [24] * 6 + [0]


def test_choices_follow_the_fitted_covariance_and_anneal():
    selector = FedCor(per_round=4, warmup=5, dims=4, refit_every=None, beta=0.5)
    fed, records = run(selector, 12)
    share = fed.roster.share()
    for before, record in pairwise(records[5:]):
        x, factors = memory(before).embeddings, memory(before).factors
        picked = dense_gp.pick(x @ x.T, share, factors, range(24), 4, 0.01)
        assert record.asked.tolist() == sorted(picked)
        expected = factors.copy()
        expected[picked] *= 0.5
        np.testing.assert_array_equal(memory(record).factors, expected)
        first = dense_gp.scores(x @ x.T, share, factors, [], 0.01)
        np.testing.assert_allclose(record.why.column("score", 24), first, rtol=1e-9, atol=1e-12)
    assert sum(fed.asked["losses", t] for t in range(7, 13)) == 0


def test_the_chosen_cover_the_groups():
    _, records = run(FedCor(per_round=4, warmup=15, dims=4, iterations_at_end=1000, refit_every=None), 18)
    assert all(set(GROUPS[record.asked]) == {0, 1, 2, 3} for record in records[16:])


def test_embeddings_tell_the_groups_apart_after_warm_up():
    _, records = run(FedCor(per_round=4, dims=4, refit_every=None), 16)
    x = memory(records[-1]).embeddings
    gaps = ((x[:, np.newaxis] - x) ** 2).sum(axis=2) + np.diag(np.full(24, np.inf))
    assert (GROUPS[gaps.argmin(axis=1)] == GROUPS).mean() >= 0.95


def test_a_trial_is_watched_thrown_away_and_counted_in():
    selector = FedCor(per_round=2, warmup=3, dims=4, refit_every=10)
    fed = federation()
    states, models = [], [fed.models]
    for record in play(Central(SGD(), Mean(), selector), fed, 12):
        states.append(memory(record))
        models.append(fed.models)
        if record.round == 10:
            tried = np.flatnonzero(record.why.column("trial", 24) == 1)
            chosen = fed.plan.trainers[fed.plan.hears[[0]].indices]
    assert [len(m) for m in models] == [1] * 10 + [2, 1, 1]
    before, (after, trial) = models[9][0], models[10]
    assert len(tried) == len(chosen) == 2
    np.testing.assert_allclose(after, before + 0.2 * (fed.centers[chosen].mean(axis=0) - before), rtol=1e-5)
    np.testing.assert_allclose(trial, before + 0.2 * (fed.centers[tried].mean(axis=0) - before), rtol=1e-5)
    loss = [0.5 * ((w - fed.centers) ** 2).sum(axis=1) for w in (before, trial)]
    np.testing.assert_allclose(states[10].samples[-1], loss[1] - loss[0])
    assert states[10].rounds[-1] == 10
    assert (states[10].factors == 1).all() and (states[9].factors < 1).any() and (states[11].factors < 1).any()
    assert not np.array_equal(states[9].embeddings, states[10].embeddings)
    np.testing.assert_array_equal(states[10].embeddings, states[11].embeddings)
    assert [fed.asked["losses", t] for t in range(5, 13)] == [0, 0, 0, 0, 0, 24, 24, 0]


def test_a_trial_nobody_answered_teaches_nothing():
    fed, records = run(FedCor(per_round=2, warmup=3, dims=4), 12, fails=lambda t: range(24) if t == 10 else ())
    assert len(memory(records[-1]).samples) == 3
    assert fed.asked["losses", 10] == fed.asked["losses", 11] == 0
    assert (memory(records[-1]).factors < 1).any()


def test_a_round_that_changed_nothing_is_no_sample():
    _, records = run(FedCor(per_round=2, warmup=4, dims=4), 5, fails=lambda t: range(24) if t == 2 else ())
    assert memory(records[-1]).rounds.tolist() == [1, 3, 4]


def test_old_samples_are_forgotten_and_fade():
    _, records = run(FedCor(per_round=2, warmup=6, dims=4, refit_every=5, window=4), 12)
    assert memory(records[6]).rounds.tolist() == [3, 4, 5, 6]
    assert memory(records[-1]).rounds.tolist() == [10]


def test_the_absent_are_not_chosen_and_their_changes_are_not_made_up():
    rng = np.random.default_rng(3)
    there = {t: np.sort(rng.choice(24, 15, replace=False)) for t in range(1, 30)}
    there[12] = np.array([5])
    _, records = run(FedCor(per_round=4, warmup=8, dims=4), 25, present=lambda t: there[t])
    for record in records:
        assert set(record.asked) <= set(there[record.round])
    assert records[11].asked.tolist() == [5]
    for sample, t in zip(memory(records[8]).samples, memory(records[8]).rounds, strict=True):
        both = np.isin(np.arange(24), there[t]) & np.isin(np.arange(24), there[t + 1])
        np.testing.assert_array_equal(~np.isnan(sample), both)


def test_nobody_there_is_nobody_chosen():
    _, records = run(FedCor(per_round=4, warmup=2, dims=4), 6, present=lambda t: [] if t in (2, 5) else range(24))
    assert [len(record.asked) for record in records] == [4, 0, 4, 4, 0, 4]


def test_one_fit_at_the_end_instead_of_one_a_round():
    _, records = run(FedCor(per_round=2, warmup=3, dims=4, iterations_at_end=500), 4)
    assert [len(memory(record).embeddings) for record in records] == [0, 0, 0, 24]
    _, records = run(FedCor(per_round=2, warmup=3, dims=4), 4)
    assert [len(memory(record).embeddings) for record in records] == [0, 24, 24, 24]


def test_the_probe_asks_everybody_once_and_then_chooses():
    selector = FedCor(per_round=4, warmup=3, dims=4, observe="probe", refit_every=None, normalize=0.3, iterations_at_end=800)
    fed, records = run(selector, 8)
    assert fed.asked == {("probe", 3): 24}
    state = memory(records[2])
    assert state.samples.shape == (60, 24)
    gradients = state.samples - state.samples.mean(axis=0)
    assert np.corrcoef(gradients.T)[GROUPS[:, np.newaxis] == GROUPS].min() > 0.99
    assert all(set(GROUPS[record.asked]) == {0, 1, 2, 3} for record in records[3:5])


def test_a_probe_is_drawn_from_the_seed_and_scaled():
    settings = {"per_round": 4, "warmup": 2, "dims": 4, "observe": "probe", "refit_every": None}
    one = memory(run(FedCor(**settings, normalize=0.3), 3, seed=1)[1][-1])
    same = memory(run(FedCor(**settings, normalize=0.3, step=0.05), 3, seed=1)[1][-1])
    other = memory(run(FedCor(**settings, normalize=0.3), 3, seed=2)[1][-1])
    np.testing.assert_array_equal(one.samples, same.samples)
    np.testing.assert_array_equal(one.embeddings, same.embeddings)
    assert not np.allclose(one.samples, other.samples)


def test_who_misses_the_probe_is_asked_when_it_comes():
    late = lambda t: range(20) if t < 6 else range(24)  # noqa: E731
    fed, records = run(FedCor(per_round=4, warmup=3, dims=4, observe="probe", refit_every=None, normalize=0.3), 8, present=late)
    assert fed.asked == {("probe", 3): 20, ("probe", 6): 4}
    assert np.isnan(memory(records[4]).samples[:, 20:]).all()
    assert not np.isnan(memory(records[5]).samples).any()
    assert not np.array_equal(memory(records[4]).embeddings, memory(records[5]).embeddings)


def test_a_private_probe_is_noised():
    settings = {"per_round": 4, "warmup": 2, "dims": 4, "observe": "probe", "refit_every": None, "normalize": 0.3}
    exact = memory(run(FedCor(**settings), 3)[1][-1]).samples
    private = memory(run(FedCor(**settings, epsilon=5.0, clip=20.0), 3)[1][-1]).samples
    spread = (private - exact).std()
    assert spread == pytest.approx(np.sqrt(2) * 2 * 20 / 5, rel=0.2)


def test_the_same_seed_gives_the_same_run():
    one, same = (run(FedCor(per_round=3, warmup=3, dims=4, refit_every=4), 12, seed=5)[1] for _ in range(2))
    assert [r.asked.tolist() for r in one] == [r.asked.tolist() for r in same]
    np.testing.assert_array_equal(memory(one[-1]).embeddings, memory(same[-1]).embeddings)


@pytest.mark.parametrize(
    "wrong",
    [
        {"per_round": 0},
        {"warmup": 0},
        {"refit_every": 0},
        {"beta": 1.1},
        {"dims": 0},
        {"noise": 0.0},
        {"discount": 0.0},
        {"window": 0},
        {"iterations": 0},
        {"iterations_at_end": 0},
        {"normalize": 0.0},
        {"observe": "everything"},
        {"epsilon": 1.0},
        {"directions": 0, "observe": "probe", "refit_every": None},
        {"refit_every": 10, "observe": "probe"},
    ],
)
def test_impossible_settings_are_refused_by_name(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        FedCor(**{"per_round": 5, **wrong})


def test_who_counts_and_who_is_leaned_to():
    sizes = np.arange(1, 25) ** 2
    for settings in ({"count": "clients"}, {"lean": 0.5}, {"count": "clients", "lean": -1.0}):
        selector = FedCor(per_round=4, warmup=5, dims=4, refit_every=None, beta=1.0, **settings)
        fed, records = run(selector, 8, sizes=sizes)
        x = memory(records[6]).embeddings
        share = np.full(24, 1 / 24) if "count" in settings else sizes / sizes.sum()
        factors = (sizes / sizes.mean()) ** settings.get("lean", 0.0)
        picked = dense_gp.pick(x @ x.T, share, factors, range(24), 4, 0.01)
        assert records[7].asked.tolist() == sorted(picked)
        assert fed.roster.share()[0] < 1 / 24


def test_leaning_forgives_clients_without_samples():
    selector = FedCor(per_round=2, warmup=1, dims=2, refit_every=None, lean=-1.0, iterations=2)
    factors = selector._leaning(np.array([0, 5, 10]))
    np.testing.assert_allclose(factors, [5, 1, 0.5])
    assert (selector._leaning(np.zeros(3, np.int64)) == 1).all()
