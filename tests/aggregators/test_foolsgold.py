import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.aggregators import FoolsGold, Mean
from coterie.aggregators.foolsgold import weights
from coterie.backbones import SGD
from coterie.federation import Steps
from coterie.recipe import Central
from coterie.simulation import World
from coterie.simulation.behaviors import Behavior
from tests.oracles import audit as plain
from tests.simulation.small import These, blobs, played, small

STEPS = SGD(Steps(epochs=2, batch_size=8, lr=0.1))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(2, 8), pairs=st.integers(0, 3))
def test_weights_are_those_of_the_pseudocode(seed, count, pairs):
    rng = np.random.default_rng(seed)
    histories = rng.normal(size=(count, 6)) + rng.normal(size=6) * rng.integers(0, 2)
    for _ in range(pairs):
        one, other = rng.integers(0, count, 2)
        histories[one] = histories[other] + 0.05 * rng.normal(size=6)
    np.testing.assert_allclose(weights(histories), plain.foolsgold(histories), atol=1e-6)


def test_two_who_pull_apart_both_count_in_full():
    rng = np.random.default_rng(0)
    for _ in range(200):
        history = rng.normal(size=6)
        apart = np.stack([history, 0.5 * rng.normal(size=6) - history])
        assert weights(apart).tolist() == plain.foolsgold(apart) == [1.0, 1.0]


def test_sybils_count_together_for_little():
    rng = np.random.default_rng(1)
    goal = rng.normal(size=50)
    histories = np.concatenate([rng.normal(size=(6, 50)), goal + 0.01 * rng.normal(size=(4, 50))])
    worth = weights(histories)
    assert worth[6:].max() < 0.01
    assert worth[:6].min() > 0.3


class Together(Behavior):
    """Three clients push the same way."""

    def acts(self, seed, round, clients):
        return np.arange(clients) < 3

    def sends(self, reply, start, dice):
        away = np.linspace(-9, 9, start.size).astype(np.float32)
        return (type(reply)(reply.client, start + away, reply.count, reply.round, reply.facts, reply.seconds),)


def test_in_a_federation_it_resists_what_the_mean_does_not():
    accuracy = {}
    for aggregator in (Mean(), FoolsGold()):
        federation = small((20,) * 10, blobs(), world=World(behaviors=(Together(),)))
        records = played(Central(STEPS, aggregator, These(tuple(range(10)))), federation, 8)
        accuracy[type(aggregator)] = records[-1].accuracy
    assert accuracy[FoolsGold] > accuracy[Mean] + 0.1


def test_a_confidence_that_means_nothing_is_refused():
    with pytest.raises(ValueError, match="confidence"):
        FoolsGold(0)
