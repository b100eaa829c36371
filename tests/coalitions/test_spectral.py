import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from coterie import seeds
from coterie.aggregators import Mean
from coterie.backbones import SGD
from coterie.coalitions.spectral import Spectral
from coterie.recipe import ByCoalition, Central, play
from coterie.selectors import Uniform
from coterie.testing import check_former
from tests.oracles.quadratic import Quadratic

GROUPS = np.repeat(np.arange(3), 5)


def federation(dim=3, **settings):
    rng = np.random.default_rng(1)
    return Quadratic(3 * np.eye(3, dim)[GROUPS] + 0.01 * rng.normal(size=(15, dim)), **settings)


def last_state(former, rounds, **settings):
    fed = federation(**settings)
    return list(play(ByCoalition(SGD(), Mean(), former, across=Mean()), fed, rounds))[-1].state["former"]


def test_it_keeps_the_contract():
    check_former(Spectral(groups=3))
    check_former(Spectral(groups=4, cluster_on="update", warmup=2, recluster_every=2))


@pytest.mark.parametrize("cluster_on", ["model", "update"])
def test_clients_that_learn_alike_end_up_together(cluster_on):
    state = last_state(Spectral(groups=3, cluster_on=cluster_on), 4)
    assert adjusted_rand_score(GROUPS, state.labels) == 1.0


def test_it_remembers_the_last_model_and_the_initial_one_of_those_never_seen():
    fed = federation()
    fed.models = np.full((1, 3), 0.5, np.float32)
    former, seen = Spectral(groups=2, cluster_on="update"), {}
    recipe = Central(SGD(), Mean(), Uniform(per_round=4))
    state, selector = former.begin(fed.roster), recipe.begin(fed.roster)
    for t in range(1, 5):
        view = fed.view(t)
        plan = recipe.plan(view, selector)
        replies = fed.train(plan)
        before = fed.models[0]
        state = former.learn(view, plan, replies, state)
        seen |= {k: (model, model - before) for k, model in zip(replies.clients.tolist(), replies.models, strict=True)}
        merge, selector = recipe.mix(view, plan, replies, selector)
        fed.adopt(merge, replies)
    for k in range(15):
        model, update = seen.get(k, (np.full(3, 0.5, np.float32), np.zeros(3, np.float32)))
        np.testing.assert_array_equal(state.models[k], model)
        np.testing.assert_array_equal(state.updates[k], update)


def test_a_large_model_is_cut_to_its_last_layer_and_that_to_a_fixed_part():
    state = last_state(Spectral(groups=3, max_dim=50), 2, dim=40)
    assert state.models.shape == (15, 40)
    state = last_state(Spectral(groups=1, max_dim=7), 3, dim=40, seed=3)
    assert state.models.shape == (15, 7)
    kept = np.sort(seeds.rng(3, "coordinates of the last layer").choice(40, 7, replace=False))
    other = last_state(Spectral(groups=1, max_dim=40), 3, dim=40, seed=3)
    np.testing.assert_array_equal(state.models, other.models[:, kept])


def test_coalitions_are_kept_for_several_rounds():
    fed = federation()
    former = Spectral(groups=3, warmup=2, recluster_every=3)
    state, labels = former.begin(fed.roster), []
    recipe = Central(SGD(), Mean(), Uniform(per_round=3))
    selector = recipe.begin(fed.roster)
    for t in range(1, 9):
        view = fed.view(t)
        plan = recipe.plan(view, selector)
        replies = fed.train(plan)
        state = former.learn(view, plan, replies, state)
        labels.append(state.labels)
        merge, selector = recipe.mix(view, plan, replies, selector)
        fed.adopt(merge, replies)
    assert (labels[0] == 0).all() and len(np.unique(labels[1])) == 3
    np.testing.assert_array_equal(labels[1], labels[3])
    assert not np.array_equal(labels[3], labels[4])
    np.testing.assert_array_equal(labels[4], labels[6])


@pytest.mark.parametrize(
    "wrong",
    [
        {"groups": 0},
        {"affinity": "friendship"},
        {"gamma": 0.0},
        {"cluster_on": "data"},
        {"max_dim": 0},
        {"warmup": -1},
        {"recluster_every": 0},
        {"dense_limit": 0},
    ],
)
def test_impossible_settings_are_refused_by_name(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Spectral(**{"groups": 3, **wrong})
