import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from coterie.aggregators import Median
from tests.oracles import robust
from tests.oracles.round import merged

models = arrays(np.float32, st.tuples(st.integers(1, 9), st.integers(1, 4)), elements=st.floats(-100, 100, width=32))


@given(models)
def test_is_the_middle_of_each_coordinate(rows):
    np.testing.assert_allclose(merged(Median(), rows)[0], robust.median(rows.astype(float).tolist()), rtol=1e-5, atol=1e-5)


def test_fewer_than_half_carry_nothing_away():
    honest = np.random.default_rng(0).normal(size=(5, 3))
    rows = np.concatenate([honest, np.full((4, 3), 1e30)])
    assert (merged(Median(), rows)[0] <= honest.max(axis=0) + 1e-6).all()


def test_each_target_takes_the_median_of_what_it_hears():
    hears = [[1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 0, 0], [1, 1, 1, 0]]
    np.testing.assert_allclose(merged(Median(), [[1], [2], [9], [5]], hears), [[2], [5], [0], [2]])
