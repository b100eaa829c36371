import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import chisquare

from coterie.catalog import federico
from coterie.neighbors import Federico
from coterie.neighbors.edges import Edges
from coterie.neighbors.topologies import graph
from coterie.recipe import play
from coterie.testing import CALM, ROUGH, Toy
from tests.oracles.peers import FedericoClient


def with_oneself(clients, topology="full"):
    return Edges.of(sparse.csr_array(graph(topology, clients, 0).matrix() + sparse.eye_array(clients, dtype=bool)))


@settings(deadline=None)
@given(st.integers(2, 6), st.integers(0, 5), st.sampled_from(["full", "ring"]), st.floats(0, 1), st.integers(0, 99))
def test_learns_as_one_client_after_another_would(clients, rounds, topology, momentum, seed):
    edges, rng = with_oneself(clients, topology), np.random.default_rng(seed)
    shares = 1 / edges.sums(np.ones(len(edges)))[edges.rows]
    plain = [FedericoClient(edges.cols[edges.rows == i].tolist(), momentum) for i in range(clients)]
    for _ in range(rounds):
        asked = np.flatnonzero(rng.random(len(edges)) < 0.6)
        losses = 5 * rng.random(len(asked))
        shares = Federico(momentum=momentum).learned(edges, shares, asked, losses)
        for i, client in enumerate(plain):
            mine = edges.rows[asked] == i
            client.learn(dict(zip(edges.cols[asked][mine].tolist(), losses[mine].tolist(), strict=True)))
        np.testing.assert_allclose(shares, [share for one in plain for _, share in sorted(one.shares.items())], rtol=1e-6)
        np.testing.assert_allclose(edges.sums(shares), 1.0, rtol=1e-9)


@pytest.mark.parametrize("chances", [CALM, ROUGH], ids=["calm", "rough"])
def test_mixes_by_the_shares_of_those_it_hears(chances):
    toy, recipe = Toy(clients=7, seed=5, chances=chances), federico(sampled=3, momentum=0.4)
    state = recipe.begin(toy.roster)
    plain = [FedericoClient(range(7), 0.4) for _ in range(7)]
    for t in (1, 2, 3):
        view = toy.view(t)
        plan = recipe.plan(view, state)
        replies = toy.train(plan)
        heard = plan.support(replies.clients).toarray()
        merge, state = recipe.mix(view, plan, replies, state)
        for i, client in enumerate(plain):
            theirs = np.flatnonzero(heard[i])
            names = replies.clients[theirs].tolist()
            told = [float(toy.model.losses(replies.models[j], toy.samples[i]["train"]).mean()) for j in theirs]
            if toy.ask.answers[i]:
                client.learn(dict(zip(names, told, strict=True)))
            raw = np.array([client.shares[j] for j in names])
            expected = raw / raw.sum() if len(raw) else raw
            np.testing.assert_allclose(merge.weights.toarray()[i, theirs], expected, atol=1e-6)
        toy.adopt(merge, replies)


def test_draws_by_the_shares_and_with_chance_epsilon_anybody():
    toy, edges = Toy(clients=4), with_oneself(4)
    shares = np.where(edges.cols == 3, 0.7, 0.1)
    drawn = {epsilon: np.zeros(4) for epsilon in (0.0, 0.5, 1.0)}
    for epsilon, counts in drawn.items():
        for t in range(1, 1501):
            counts += Federico(sampled=1, epsilon=epsilon).listen(toy.view(t), shares).toarray()[0]
    for epsilon, counts in drawn.items():
        assert counts[0] == 1500, "it always hears itself"
        by_share = np.array([0.1, 0.1, 0.7]) / 0.9
        assert chisquare(counts[1:], 1500 * ((1 - epsilon) * by_share + epsilon / 3)).pvalue > 0.001


def test_hears_so_many_and_never_who_is_away():
    toy = Toy(clients=9, seed=1, chances=ROUGH)
    view = toy.view(1)
    hears = Federico(sampled=2).listen(view, None).toarray()
    assert (hears.sum(axis=1)[view.present] == min(3, len(view.present))).all()


def test_every_heard_model_is_asked_about():
    toy = Toy(clients=6)
    list(play(federico(sampled=2), toy, 1))
    assert toy.meter().evaluations == 6 * 3


@pytest.mark.parametrize("wrong", [{"sampled": 0}, {"epsilon": 1.5}, {"momentum": -0.1}, {"topology": "star"}])
def test_refuses_impossible_settings(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Federico(**wrong)
