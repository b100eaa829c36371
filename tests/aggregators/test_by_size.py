import numpy as np

from coterie.aggregators import BySize
from tests.oracles.round import merged


def test_a_reply_counts_as_much_as_its_samples():
    np.testing.assert_allclose(merged(BySize(), [[0, 4], [4, 0]], counts=[1, 3]), [[3, 1]])


def test_only_the_samples_that_a_target_hears_matter():
    hears = [[1, 1, 0], [0, 1, 1]]
    np.testing.assert_allclose(merged(BySize(), [[0], [3], [9]], hears, counts=[1, 2, 4]), [[2], [7]])
