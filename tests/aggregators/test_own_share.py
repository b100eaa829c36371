import numpy as np
import pytest

from coterie import play
from coterie.aggregators import Boltzmann, BySize, Median, OwnShare
from coterie.backbones import SGD
from coterie.neighbors import Alone, Gossip
from coterie.recipe import Peers
from coterie.testing import Toy
from tests.oracles.round import merged


def weights(aggregator, listener, rounds=1):
    return list(play(Peers(SGD(), aggregator, listener), Toy(6, seed=1), rounds))[-1].merge.weights.toarray()


def test_oneself_counts_the_share_and_the_others_as_the_inner_rule_says():
    plain, shared = weights(BySize(), Gossip(2)), weights(OwnShare(0.3, BySize()), Gossip(2))
    np.testing.assert_allclose(shared.diagonal(), 0.3)
    others = plain * ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(shared * ~np.eye(6, dtype=bool), 0.7 * others / others.sum(axis=1, keepdims=True), atol=1e-12)


def test_who_hears_nobody_else_keeps_all():
    np.testing.assert_allclose(weights(OwnShare(0.3), Alone()), np.eye(6))


def test_a_share_of_one_is_learning_alone():
    assert np.array_equal(weights(OwnShare(1.0), Gossip(3)), np.eye(6))


def test_other_maps_and_servers_stay_as_they_are():
    models = [[1.0], [2.0], [6.0]]
    assert merged(OwnShare(0.9), models) == merged(OwnShare(0.1), models) == 3.0
    assert merged(OwnShare(0.9, Median()), models) == 2.0


def test_wants_what_the_inner_rule_wants():
    assert OwnShare(0.5, Boltzmann()).wants == Boltzmann.wants


def test_refuses_what_is_no_share():
    with pytest.raises(ValueError, match="share: must be in"):
        OwnShare(1.5)
