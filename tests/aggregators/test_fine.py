import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.aggregators import Fine
from coterie.replies import Replies
from coterie.testing import Toy
from tests.aggregators.test_coarse import EVERYBODY, personal
from tests.oracles import sharing


def weights_of(rule, changes, sizes=(1, 1, 1, 1), hears=EVERYBODY):
    view = Toy(4).view(1)
    whole = np.zeros((4, view.models.shape[1]), np.float32)
    whole[:, : changes.shape[1]] = changes
    told = Replies(np.arange(4), view.models[0] + whole, np.array(sizes))
    return rule.weigh(view, personal(hears), told, None).weights.toarray()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 3.0]), st.booleans())
def test_weights_are_those_of_the_plain_loops(seed, power, by_size):
    dice = np.random.default_rng(seed)
    changes, sizes = dice.normal(size=(4, 3)), dice.integers(1, 50, 4)
    found = weights_of(Fine(power, by_size), changes, sizes)
    np.testing.assert_allclose(found, sharing.fine(changes, power, sizes if by_size else None), atol=1e-5)


def test_orthogonal_updates_count_half_and_opposite_ones_nothing():
    found = weights_of(Fine(), np.array([[1.0, 0], [2.0, 0], [0, 5.0], [-3.0, 0]]))
    np.testing.assert_allclose(found[0], [0.4, 0.4, 0.2, 0.0], atol=1e-6)
    np.testing.assert_allclose(found[2], [0.2, 0.2, 0.4, 0.2], atol=1e-6)


def test_only_who_is_heard_counts():
    found = weights_of(Fine(), np.ones((4, 2)), hears=np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]))
    np.testing.assert_allclose(found, [[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], atol=1e-6)


def test_a_client_that_learned_nothing_is_orthogonal_to_all():
    found = weights_of(Fine(), np.array([[0.0, 0], [1.0, 0], [1.0, 1], [0, 0]]))
    np.testing.assert_allclose(found[0], [0.4, 0.2, 0.2, 0.2])


def test_an_impossible_power_is_refused():
    with pytest.raises(ValueError, match="cosine_power"):
        Fine(-1.0)
