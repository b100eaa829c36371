import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from coterie.aggregators import BySize
from coterie.backbones import SGD
from coterie.recipe import Central, play
from coterie.selectors.clusters_only import ClustersOnly
from coterie.selectors.fedcvr_bolt import Covariance, FedCVRBolt
from coterie.testing import check_selector
from tests.oracles import full_covariance
from tests.oracles.quadratic import Quadratic

METHODS = (FedCVRBolt, ClustersOnly)


def federation(groups=4, each=6, dim=5, noise=0.3, **settings):
    rng = np.random.default_rng(11)
    centers = rng.normal(size=(groups, dim))[np.repeat(np.arange(groups), each)]
    sizes = rng.integers(5, 50, groups * each)
    return Quadratic(centers + noise * rng.normal(size=centers.shape), sizes, **{"pace": 0.3, **settings})


def run(selector, rounds, fed=None, **settings):
    fed = fed or federation(**settings)
    fed.models = np.ones_like(fed.models)
    return fed, list(play(Central(SGD(), BySize(), selector), fed, rounds))


@pytest.mark.parametrize("method", METHODS)
def test_it_keeps_the_contract(method):
    check_selector(method(per_round=3, warmup=2), rounds=7)
    check_selector(method(per_round=3, warmup=0, cluster_on="update", affinity="cosine"), rounds=4)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(3, 40), st.integers(1, 60))
def test_scores_equal_those_of_the_full_covariance(seed, dims, clients, rounds):
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.ones(clients))
    sums, full = Covariance.of(share, dims), rng.normal(size=(dims, clients, clients))
    for t in range(1, rounds + 1):
        u = rng.normal(size=(clients, dims)) * rng.lognormal(size=dims)
        u[rng.choice(clients, min(3, clients), replace=False)] = 0
        sums, full = sums.moved(u), full_covariance.step(full, u, t)
    np.testing.assert_allclose(sums.reduction, full_covariance.scores(full, share), rtol=1e-9)


@pytest.mark.parametrize("fails", [None, lambda t: [t % 24, (5 * t) % 24, 7]])
def test_a_whole_run_equals_loops_over_the_full_covariance(fails):
    """Warm-up, coalitions, absent representatives and failures included."""
    fed, records = run(FedCVRBolt(per_round=4, warmup=6), 25, fails=fails)
    share, full = fed.roster.share(), np.zeros((5, 24, 24))
    before, labels, moved = np.ones((24, 5)), np.zeros(24, int), 0
    for record in records:
        state = record.state["selector"]
        after = state.seen.models.astype(np.float64)
        if len(record.answered):
            moved += 1
            u = full_covariance.deviations(before, after, labels, record.answered.tolist())
            full = full_covariance.step(full, u, moved)
        np.testing.assert_allclose(state.covariance.reduction, full_covariance.scores(full, share), rtol=1e-9, atol=1e-15)
        before, labels = after, state.seen.labels


@pytest.mark.parametrize("method", METHODS)
def test_one_from_each_coalition_every_round(method):
    _, records = run(method(per_round=5, warmup=4), 20)
    for record in records[4:]:
        labels = record.why.column("coalition", 24)
        assert len(np.unique(record.asked)) == 5
        assert sorted(labels[record.asked]) == [0, 1, 2, 3, 4]
        assert not np.isnan(labels).any()


def test_large_beta_takes_the_highest_score_of_each_coalition():
    _, records = run(FedCVRBolt(per_round=4, warmup=5, beta=1e15), 15)
    for record in records[5:]:
        labels, scores = record.why.column("coalition", 24), record.why.column("score", 24)
        best = np.array([scores[labels == p].max() for p in range(4)])
        np.testing.assert_allclose(scores[record.asked], best[labels[record.asked].astype(int)], rtol=1e-12)


def picks(selector):
    """Choices of many rounds from one state with very unequal scores."""
    fed, records = run(FedCVRBolt(per_round=2, warmup=5), 6)
    state, counts = records[-1].state["selector"], np.zeros(24)
    covariance = Covariance(np.sqrt(np.arange(24.0))[:, np.newaxis] / 2, np.ones((24, 1)), fed.roster.share(), 6)
    state = type(state)(state.seen, covariance)
    for t in range(7, 3007):
        counts[selector.choose(fed.view(t), state)] += 1
    return state.seen.labels, counts / 3000, covariance.reduction


def test_beta_zero_is_uniform_inside_a_coalition():
    labels, share, _ = picks(FedCVRBolt(per_round=2, warmup=5, beta=0))
    np.testing.assert_allclose(share, 1 / np.bincount(labels)[labels], atol=0.04)


@pytest.mark.parametrize("scale", ["none", "zscore"])
def test_the_draw_is_boltzmann_inside_a_coalition(scale):
    labels, share, v = picks(FedCVRBolt(per_round=2, warmup=5, beta=0.7, score_scale=scale))
    expected = np.zeros(24)
    for p in range(2):
        mine = v[labels == p]
        if scale == "zscore":
            mine = (mine - mine.mean()) / mine.std()
        odds = np.exp(0.7 * mine)
        expected[labels == p] = odds / odds.sum()
    np.testing.assert_allclose(share, expected, atol=0.04)


def test_equal_scores_have_no_z_score():
    fed, records = run(FedCVRBolt(per_round=2, warmup=5, score_scale="zscore", beta=50), 6)
    state = records[-1].state["selector"]
    flat = type(state)(state.seen, Covariance.of(fed.roster.share(), 5))
    assert len(FedCVRBolt(per_round=2, warmup=5, score_scale="zscore", beta=50).choose(fed.view(7), flat)) == 2


def test_ten_known_groups_are_found_by_what_training_changes():
    rand = []
    for seed in range(3):
        fed = federation(groups=10, each=10, dim=30, noise=0.4, seed=seed)
        _, records = run(FedCVRBolt(per_round=10, warmup=30, cluster_on="update"), 50, fed)
        truth = np.repeat(np.arange(10), 10)
        rand += [adjusted_rand_score(truth, record.state["selector"].seen.labels) for record in records[35:]]
    assert np.mean(rand) >= 0.9


def test_a_failed_client_keeps_the_model_last_seen():
    fails = lambda t: range(24) if t == 8 else [3]  # noqa: E731
    _, records = run(FedCVRBolt(per_round=4, warmup=2), 12, fails=fails)
    seen = [record.state["selector"].seen.models for record in records]
    assert all((models[3] == 1).all() for models in seen)
    np.testing.assert_array_equal(seen[6], seen[7])
    sums = [record.state["selector"].covariance for record in records]
    np.testing.assert_array_equal(sums[6].diagonal, sums[7].diagonal)
    assert [c.rounds for c in sums[5:9]] == [6, 7, 7, 8]


def test_an_absent_client_is_replaced_and_the_number_kept():
    rng = np.random.default_rng(2)
    there = {t: np.sort(rng.choice(24, 9, replace=False)) for t in range(1, 40)}
    there[20], there[21] = np.array([4, 5]), np.array([], np.intp)
    _, records = run(FedCVRBolt(per_round=6, warmup=3), 30, present=lambda t: there[t])
    for record in records:
        assert set(record.asked) <= set(there[record.round])
        assert len(record.asked) == min(6, len(there[record.round]))


def test_the_covariance_starts_anew_when_shares_change():
    selector = FedCVRBolt(per_round=4, warmup=2)
    fed, records = run(selector, 6)
    state = records[-1].state["selector"]
    fed.roster = fed.roster.with_columns(size=np.arange(1, 25))
    recipe = Central(SGD(), BySize(), selector)
    after = next(iter(play(recipe, fed, 7, records[-1].state))).state["selector"]
    assert (state.covariance.rounds, after.covariance.rounds) == (6, 1)
    np.testing.assert_array_equal(after.covariance.share, fed.roster.share())
    assert (after.seen.models == state.seen.models).all(axis=1).sum() >= 20


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("wrong", [{"per_round": 0}, {"warmup": -1}, {"affinity": "x"}, {"recluster_every": 0}])
def test_impossible_settings_are_refused_by_name(method, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        method(**{"per_round": 5, **wrong})


@pytest.mark.parametrize("wrong", [{"beta": -1.0}, {"beta": float("inf")}, {"score_scale": "log"}])
def test_impossible_scoring_is_refused_by_name(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        FedCVRBolt(5, **wrong)
