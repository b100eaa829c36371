import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from coterie.selectors.draw import draw, draw_exp


@given(
    weights=st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1e6)), max_size=12),
    count=st.integers(-1, 15),
    seed=st.integers(0, 99),
)
def test_draws_distinct_candidates_those_of_weight_zero_last(weights, count, seed):
    candidates = np.arange(100, 100 + len(weights))
    drawn = draw(np.random.default_rng(seed), candidates, count, np.array(weights))
    assert len(drawn) == len(set(drawn.tolist())) == max(min(count, len(weights)), 0)
    assert set(drawn.tolist()) <= set(candidates.tolist())
    got = np.array(weights)[drawn - 100] > 0
    assert not (np.diff(got.astype(int)) > 0).any()


def test_odds_are_those_of_draws_one_after_the_other():
    weights, times = np.array([1.0, 2.0, 3.0, 4.0]), 40_000
    rng = np.random.default_rng(5)
    pairs = np.zeros((4, 4))
    for _ in range(times):
        first, second = draw(rng, np.arange(4), 2, weights)
        pairs[first, second] += 1
    share = weights / weights.sum()
    expected = share[:, None] * weights[None, :] / (weights.sum() - weights[:, None])
    off = ~np.eye(4, dtype=bool)
    assert chisquare(pairs[off], times * expected[off]).pvalue > 0.001


def test_alike_without_weights():
    rng = np.random.default_rng(2)
    drawn = [int(draw(rng, np.arange(5), 1)[0]) for _ in range(5_000)]
    assert chisquare(np.bincount(drawn, minlength=5)).pvalue > 0.001


@pytest.mark.parametrize("shift", [0.0, 5_000.0, -5_000.0])
def test_huge_logits_do_not_overflow(shift):
    logits = np.array([1.0, 2.0, -np.inf, np.inf]) + shift
    drawn = draw_exp(np.random.default_rng(0), np.arange(4), 4, logits)
    assert drawn[0] == 3
    assert drawn[-1] == 2
