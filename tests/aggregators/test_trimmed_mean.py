import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from coterie.aggregators import Mean, TrimmedMean
from tests.oracles import robust
from tests.oracles.round import merged

models = arrays(np.float32, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.floats(-100, 100, width=32))


@given(models, st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.3, 0.49]))
def test_is_the_mean_without_the_ends(rows, beta):
    expected = robust.trimmed_mean(rows.astype(float).tolist(), beta)
    np.testing.assert_allclose(merged(TrimmedMean(beta), rows)[0], expected, rtol=1e-5, atol=1e-5)


def test_trims_nothing_at_zero():
    rows = np.random.default_rng(1).normal(size=(7, 5))
    np.testing.assert_allclose(merged(TrimmedMean(0.0), rows), merged(Mean(), rows), rtol=1e-5)


def test_a_tenth_of_ten_is_one():
    assert merged(TrimmedMean(0.1), [[0]] + [[1]] * 8 + [[1e9]])[0, 0] == 1


def test_refuses_to_trim_half():
    with pytest.raises(ValueError, match=r"beta: must be in \[0, 0.5\), not 0.5"):
        TrimmedMean(0.5)
