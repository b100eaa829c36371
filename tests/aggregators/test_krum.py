import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from coterie.aggregators import Krum
from tests.oracles import robust
from tests.oracles.round import merged, over

whole = st.integers(-50, 50).map(float)
models = arrays(np.float32, st.tuples(st.integers(1, 9), st.integers(1, 3)), elements=whole, fill=st.nothing())


def kept(rule, rows):
    plan, replies = over(rows)
    return np.flatnonzero(rule.weigh(None, plan, replies, None).uses()).tolist()


@given(models, st.sampled_from([0.0, 0.2, 0.34, 0.45]), st.integers(1, 4))
def test_keeps_whose_nearest_others_are_nearest(rows, broken, keep):
    scale = np.random.default_rng(0).random(rows.shape).astype(np.float32)  # no ties
    rows = rows + scale
    assert kept(Krum(broken, keep), rows) == robust.krum(rows.astype(float).tolist(), broken, keep)


def test_multi_krum_averages_those_kept():
    rows = [[0.0], [0.1], [0.2], [0.3], [90.0]]
    np.testing.assert_allclose(merged(Krum(0.2, keep=4), rows), [[0.15]], rtol=1e-6)


def test_outliers_together_do_not_pass_for_a_crowd():
    rng = np.random.default_rng(4)
    rows = np.concatenate([rng.normal(size=(8, 20)), 50 + 1e-3 * rng.normal(size=(3, 20))])
    assert all(k < 8 for k in kept(Krum(0.3, keep=5), rows))


def test_small_differences_far_from_zero_are_seen():
    rows = 1000 + np.array([[0.0], [0.01], [0.02], [5.0]])
    assert kept(Krum(0.25), rows) != [3]


def test_each_target_chooses_among_what_it_hears():
    hears = [[1, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    np.testing.assert_allclose(merged(Krum(0.0), [[1], [1.5], [9], [7]], hears), [[1], [7], [0]])


def test_one_or_two_replies_are_enough():
    assert kept(Krum(0.4), [[3.0]]) == [0]
    assert kept(Krum(0.4), [[3.0], [8.0]]) == [0]


@pytest.mark.parametrize("settings", [{"broken": 0.5}, {"keep": 0}])
def test_refuses_what_cannot_be(settings):
    with pytest.raises(ValueError, match="must be"):
        Krum(**settings)
