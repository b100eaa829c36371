import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from coterie import play
from coterie.catalog import gossip
from coterie.neighbors import Gossip
from coterie.neighbors.gossip import draw_others
from coterie.testing import Toy


@given(st.integers(0, 12), st.integers(0, 15), st.integers(0, 50))
def test_draws_distinct_others(count, peers, seed):
    others = draw_others(np.random.default_rng(seed), count, peers)
    assert others.shape == (count, min(peers, max(count - 1, 0)))
    for client, drawn in enumerate(others.tolist()):
        assert len(set(drawn)) == len(drawn)
        assert set(drawn) <= set(range(count)) - {client}


def test_every_other_alike():
    rng = np.random.default_rng(7)
    drawn = np.array([draw_others(rng, 5, 2)[1] for _ in range(4_000)])
    counts = np.bincount(drawn.ravel(), minlength=5)
    assert counts[1] == 0
    assert chisquare(counts[[0, 2, 3, 4]]).pvalue > 0.001


def test_each_round_has_new_peers():
    toy = Toy(clients=10)
    rounds = [Gossip(2).listen(toy.view(t), None).toarray() for t in (1, 2)]
    assert not np.array_equal(*rounds)
    assert all((hears.sum(axis=1) == 3).all() and hears.diagonal().all() for hears in rounds)


def test_with_everybody_as_peers_all_models_become_the_mean_by_size():
    toy = Toy(clients=5, seed=2)
    list(play(gossip(peers=4), toy, 1))
    np.testing.assert_allclose(toy.models, np.tile(toy.models[0], (5, 1)), atol=1e-6)
    trained = np.stack([toy.held[k] for k in range(5)])
    np.testing.assert_allclose(toy.models[0], toy.roster.share() @ trained, atol=1e-5)


def test_refuses_fewer_than_no_peers():
    with pytest.raises(ValueError, match="peers: must be a whole number from 0, not -1"):
        Gossip(-1)
