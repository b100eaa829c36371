import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import play
from coterie.aggregators import Boltzmann
from coterie.backbones import SGD
from coterie.federation import Steps
from coterie.neighbors import Gossip
from coterie.recipe import Peers
from coterie.replies import Replies
from coterie.testing import Toy
from tests.oracles import afind
from tests.oracles.round import over


@given(st.integers(1, 6), st.floats(0.2, 5), st.floats(0, 1), st.integers(0, 99))
def test_weighs_as_the_equations_say(count, temperature, gamma, seed):
    rng = np.random.default_rng(seed)
    hears = rng.random((3, count)) < 0.6
    plan, replies = over(rng.standard_normal((count, 2)), hears)
    before, after = rng.random(count) * 3, rng.random(count)
    told = Replies(replies.clients, replies.models, replies.counts, {"loss_before": before, "loss_after": after})
    mixing = Boltzmann(temperature, gamma).weigh(Toy(count).view(1), plan, told, None)
    mixing.check(plan, told)
    for heard, row in zip(hears, mixing.weights.toarray(), strict=True):
        expected = afind.boltzmann_row(before[heard], after[heard], gamma, temperature) if heard.any() else []
        np.testing.assert_allclose(row[heard], expected, atol=1e-9)


def test_huge_losses_are_no_trouble():
    plan, replies = over([[0.0], [1.0]])
    told = Replies(
        replies.clients, replies.models, replies.counts, {"loss_before": np.array([1e6, 1e6 + 1]), "loss_after": np.zeros(2)}
    )
    weights = Boltzmann(gamma=1.0).weigh(Toy(2).view(1), plan, told, None).weights.toarray()
    np.testing.assert_allclose(weights, [[1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))]])


def after(aggregator, rounds):
    toy = Toy(clients=5, seed=3)
    list(play(Peers(SGD(Steps(epochs=1, lr=0.1)), aggregator, Gossip(4)), toy, rounds))
    return toy.models


def test_both_probes_agree_while_all_models_are_one_and_differ_then():
    np.testing.assert_allclose(after(Boltzmann(), 1), after(Boltzmann(probe="receiver"), 1), atol=1e-6)
    few = [Peers(SGD(), Boltzmann(probe=probe), Gossip(2)) for probe in ("sender", "receiver")]
    toys = [Toy(clients=6, seed=3) for _ in few]
    for recipe, toy in zip(few, toys, strict=True):
        list(play(recipe, toy, 3))
    assert not np.allclose(toys[0].models, toys[1].models, atol=1e-6)
    assert np.array_equal(after(Boltzmann(probe="auto"), 2), after(Boltzmann(probe="receiver"), 2))


@pytest.mark.parametrize("wrong", [{"temperature": 0}, {"gamma": 1.5}])
def test_refuses_impossible_settings(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Boltzmann(**wrong)
