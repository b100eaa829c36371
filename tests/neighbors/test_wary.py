import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import play
from coterie.catalog import local, pens, wary
from coterie.neighbors import Wary
from coterie.neighbors.edges import Edges
from coterie.neighbors.topologies import graph
from coterie.testing import CALM, ROUGH, Toy
from tests.neighbors import groups
from tests.oracles.peers import WaryClient


@pytest.mark.parametrize("chances", [CALM, ROUGH], ids=["calm", "rough"])
@pytest.mark.parametrize("slack", [0.3, 5.0])
def test_mixes_as_one_client_after_another_would(slack, chances):
    toy, recipe = Toy(clients=8, seed=6, chances=chances), wary(peers=4, slack=slack, memory=0.4)
    rule = recipe.listener
    clients = [WaryClient(rule.slack, rule.shares, rule.margin, rule.memory) for _ in range(8)]
    state, mixed = recipe.begin(toy.roster), 0
    for t in range(1, 8):
        view = toy.view(t)
        plan = recipe.plan(view, state)
        replies = toy.train(plan)
        merge, state = recipe.mix(view, plan, replies, state)
        came, model = replies.clients.tolist(), dict(zip(replies.clients.tolist(), replies.models, strict=True))
        heard = plan.support(replies.clients).toarray()

        def loss(i, w, split, toy=toy):
            return float(toy.model.losses(w, toy.samples[i][split]).mean())

        friends = {}
        for i in came:
            others = [came[c] for c in np.flatnonzero(heard[i]) if came[c] != i and toy.ask.answers[i]]
            own = loss(i, model[i], "holdout") if toy.ask.answers[i] else np.nan
            friends[i] = clients[i].friends(own, {j: loss(i, model[j], "train") for j in others})
            if friends[i]:
                mean = np.mean([model[j] for j in friends[i]], axis=0)
                levels = [(1 - a) * model[i] + a * mean for a in (0.0, *rule.shares)]
                clients[i].tried([loss(i, w.astype(np.float32), "holdout") for w in levels])
        weights = np.zeros((8, 8))
        weights[:, came] = merge.weights.toarray()
        for i in range(8):
            expected = np.zeros(8)
            if i in came:
                share = clients[i].share([clients[j] for j in friends[i]])
                expected[i] = 1 - share
                expected[friends[i]] += share / max(len(friends[i]), 1)
                mixed += share > 0
            np.testing.assert_allclose(weights[i], expected, atol=1e-6)
        toy.adopt(merge, replies)
    assert mixed > 0


@given(st.integers(2, 8), st.integers(1, 5), st.floats(0, 1), st.integers(0, 999))
def test_invites_friends_and_the_likest_untried_and_never_a_stranger(clients, peers, explore, seed):
    edges, rng = graph("full", clients, 0), np.random.default_rng(seed)
    kind, likeness = rng.integers(0, 3, len(edges)), rng.random(len(edges))
    friends, untried = kind == 0, kind == 1
    chosen = Wary(peers=peers, explore=explore).invited(edges, friends, untried, likeness, rng.random(len(edges)))
    assert not chosen[kind == 2].any()
    for i in range(clients):
        mine = edges.rows == i
        known, new = likeness[mine & friends], likeness[mine & untried]
        open_to = new if len(known) < peers else new[new >= known.min()]
        tried, taken = likeness[mine & untried & chosen], (mine & friends & chosen).sum()
        first = min(round(explore * peers), len(open_to), peers)
        room = max(min(peers, len(open_to) + len(known)) - len(known), 0)
        assert sorted(tried) == sorted(open_to)[len(open_to) - len(tried) :]
        assert len(tried) == max(first, min(room, len(open_to))) and len(tried) + taken == min(peers, len(open_to) + len(known))


def test_who_meets_compares_gradients_once():
    toy = Toy(clients=6, seed=2)
    records = list(play(wary(peers=2, batch=None), toy, 3))
    assert not np.isnan(records[0].state["listener"].likeness).any()
    assert "gradient" not in records[1].meter.up
    ring = Toy(clients=6, seed=2)
    (record,) = play(wary(peers=2, batch=None, topology="ring"), ring, 1)
    assert len(record.state["listener"].likeness) == 12


def test_friends_among_planted_groups_are_of_the_group_and_it_pays():
    runs = {name: groups.last(recipe, 10, samples=16) for name, recipe in RECIPES.items()}
    _, inside = runs["wary"]
    assert min(inside[4:]) >= 0.95
    score = {name: groups.tuned(record) for name, (record, _) in runs.items()}
    assert score["wary"] > score["local"] + 0.03
    assert score["wary"] > score["pens"] - 0.03


RECIPES = {
    "wary": wary(backbone=groups.BACKBONE),
    "pens": pens(search=4, sampled=10, keep=2, backbone=groups.BACKBONE),
    "local": local(backbone=groups.BACKBONE),
}


def test_without_anything_held_out_it_is_learning_alone():
    with groups.federation(6, holdout=0.0) as fed, groups.federation(6, holdout=0.0) as other:
        records = list(play(wary(slack=-1.0, backbone=groups.BACKBONE), fed, 3))
        list(play(local(backbone=groups.BACKBONE), other, 3))
        assert fed.models.tobytes() == other.models.tobytes()
    assert all(record.merge.weights.nnz == 6 for record in records)


def test_what_a_client_tries_at_home_does_not_cross():
    with groups.federation(6) as fed:
        records = list(play(wary(peers=2, slack=100.0, backbone=groups.BACKBONE), fed, 2))
        assert [record.meter.between["model"] for record in records] == [4 * fed.layout.size * 12] * 2
    assert records[1].meter.evaluations == 6 + 12 + 6 * 5


def test_what_friends_tell_each_other_is_metered():
    with groups.federation(6) as fed:
        everybody, nobody = (
            [record.meter.between.get("change", 0) for record in play(wary(peers=2, slack=s, backbone=groups.BACKBONE), fed, t)]
            for s, t in ((100.0, 2), (-100.0, 3))
        )
    assert everybody == [8 * 4 * 12] * 2, "four numbers to each of two who hear"
    assert nobody == [0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"peers": 0},
        {"shares": ()},
        {"shares": (1.5,)},
        {"memory": 0},
        {"explore": 2},
        {"batch": 0},
        {"margin": -1},
        {"topology": "x"},
    ],
)
def test_refuses_impossible_settings(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Wary(**wrong)


def test_the_mean_of_what_is_known_ignores_what_is_not():
    from coterie.neighbors.wary import pooled
    from tests.oracles.round import over

    _, replies = over(np.zeros((3, 1)))
    friends = Edges(3, np.array([0, 0, 1]), np.array([1, 2, 2]))
    change = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, 4.0]])
    np.testing.assert_allclose(pooled(friends, replies, change), [[2, 4], [3, 4], [np.nan, 4]])
