import numpy as np

from coterie.aggregators import Mean
from tests.oracles.round import merged


def test_every_reply_counts_the_same():
    np.testing.assert_allclose(merged(Mean(), [[0, 3], [6, 0]], counts=[1, 99]), [[3, 1.5]])


def test_each_target_averages_what_it_hears():
    hears = [[1, 1, 0], [0, 0, 1], [0, 0, 0]]
    np.testing.assert_allclose(merged(Mean(), [[0], [2], [9]], hears), [[1], [9], [0]])
