import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie.aggregators import MaskedMean
from tests.oracles.round import merged


@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 99))
def test_each_coordinate_is_the_mean_over_who_uses_it(count, dim, seed):
    rng = np.random.default_rng(seed)
    models = rng.standard_normal((count, dim)) * (rng.random((count, dim)) < 0.5)
    made = merged(MaskedMean(), models)[0]
    for d in range(dim):
        used = [np.float32(value) for value in models[:, d] if np.float32(value) != 0]
        np.testing.assert_allclose(made[d], np.mean(used) if used else 0.0, rtol=1e-5, atol=1e-7)
