import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import play
from coterie.catalog import pens
from coterie.neighbors import Pens
from coterie.neighbors.edges import Edges
from coterie.neighbors.pens import Chosen
from coterie.neighbors.topologies import graph
from coterie.testing import ROUGH, Chances, Toy
from tests.neighbors import groups
from tests.oracles.peers import PensClient


@given(st.integers(2, 6), st.lists(st.integers(0, 999), max_size=6), st.integers(1, 3))
def test_counts_as_one_client_after_another_would(clients, seeds, keep):
    state, plain = Chosen(), [PensClient(clients - 1, keep) for _ in range(clients)]
    everybody = graph("full", clients, 0)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        losses = np.where(rng.random(len(everybody)) < 0.6, rng.permutation(len(everybody)), np.inf)
        asked = everybody.only(np.isfinite(losses))
        best = asked.only(asked.first(keep, losses[np.isfinite(losses)]))
        state = state.plus(best)
        for i, client in enumerate(plain):
            mine = (everybody.rows == i) & np.isfinite(losses)
            chosen = client.best(dict(zip(everybody.cols[mine].tolist(), losses[mine].tolist(), strict=True)))
            assert sorted(chosen) == best.cols[best.rows == i].tolist()
    often = state.often(everybody, np.full(clients, clients - 1))
    for i, client in enumerate(plain):
        assert set(everybody.cols[often & (everybody.rows == i)].tolist()) == client.friends()


@pytest.mark.parametrize("chances", [Chances(), ROUGH], ids=["calm", "rough"])
def test_mixes_itself_and_the_lowest_losses_of_those_it_hears(chances):
    toy, recipe = Toy(clients=9, seed=4, chances=chances), pens(search=3, sampled=4, keep=2)
    state = recipe.begin(toy.roster)
    for t in (1, 2, 3):
        view = toy.view(t)
        plan = recipe.plan(view, state)
        replies = toy.train(plan)
        heard = plan.support(replies.clients).toarray()
        heeds, _ = recipe.listener.heed(view, plan, replies, state["listener"])
        for i, row in enumerate(heeds.toarray()):
            others = [j for j in np.flatnonzero(heard[i]) if replies.clients[j] != i and toy.ask.answers[i]]
            loss = {j: toy.model.losses(replies.models[j], toy.samples[i]["train"]).mean() for j in others}
            own = [j for j in range(len(replies)) if replies.clients[j] == i]
            assert set(np.flatnonzero(row)) == set(sorted(others, key=loss.get)[:2] + own)
        merge, state = recipe.mix(view, plan, replies, state)
        toy.adopt(merge, replies)


def test_afterwards_it_gossips_with_its_friends_only():
    toy = Toy(clients=6)
    pairs = [(0, 3), (0, 3), (0, 4), (1, 5)]
    state = Chosen()
    for i, j in pairs:
        state = state.plus(Edges(6, np.array([i]), np.array([j])))
    hears = Pens(search=1, sampled=4).listen(toy.view(2), state).toarray()
    assert set(np.flatnonzero(hears[0])) == {0, 3, 4}
    assert set(np.flatnonzero(hears[1])) == {1, 5}
    assert hears[2].sum() == 5 and hears[2, 2], "who has no friends gossips with four of all the others"


def test_finds_planted_groups():
    record, inside = groups.last(pens(search=4, sampled=12, keep=2, backbone=groups.BACKBONE), 8)
    assert min(inside[4:]) >= 0.95
    assert record.round == 8


def test_the_search_is_paid_for():
    toys = [Toy(clients=6, seed=2) for _ in range(2)]
    for toy, search in zip(toys, (1, 2), strict=True):
        list(play(pens(search=search, sampled=3), toy, 2))
    assert toys[0].meter().evaluations == 0 and toys[1].meter().evaluations == 18


@pytest.mark.parametrize("wrong", [{"search": 0}, {"sampled": 0}, {"keep": 0}, {"topology": "star"}])
def test_refuses_impossible_settings(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Pens(**wrong)
