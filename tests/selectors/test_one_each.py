import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.selectors.one_each import one_each


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(0, 30))
def test_one_of_each_coalition_that_has_somebody_and_as_many_as_can_be(seed, groups, extra):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.concatenate([np.arange(groups), rng.integers(0, groups, extra)]))
    present = np.flatnonzero(rng.random(len(labels)) < 0.6)
    chosen = one_each(rng, labels, present, rng.normal(size=len(present)), rng.normal(size=(len(labels), 2)))
    assert len(np.unique(chosen)) == len(chosen) == min(groups, len(present))
    assert set(chosen) <= set(present)
    assert set(labels[chosen]) == set(labels[present])


def test_odds_follow_the_exponential_of_the_logits():
    rng = np.random.default_rng(0)
    labels, logits = np.array([0, 0, 0, 1, 1]), np.array([0.0, 1.0, 2.0, 5.0, 5.0])
    counts = np.zeros(5)
    for _ in range(20_000):
        counts[one_each(rng, labels, np.arange(5), logits, np.zeros((5, 1)))] += 1
    share = np.exp(logits[:3]) / np.exp(logits[:3]).sum()
    np.testing.assert_allclose(counts / 20_000, [*share, 0.5, 0.5], atol=0.015)


def test_huge_logits_pick_the_highest_of_each_and_do_not_overflow():
    labels, logits = np.array([0, 0, 1, 1]), 1e12 * np.array([0.1, 0.2, 0.4, 0.3])
    assert one_each(np.random.default_rng(0), labels, np.arange(4), logits, np.zeros((4, 1))).tolist() == [1, 2]


def test_the_nearest_coalition_stands_in():
    labels = np.array([0, 0, 1, 1, 2, 2])
    models = np.array([[0.0], [0], [1], [1], [9], [9]])
    for seed in range(10):
        chosen = one_each(np.random.default_rng(seed), labels, np.array([2, 3, 4, 5]), np.zeros(4), models)
        assert {2, 3} <= set(chosen.tolist()) and len(chosen) == 3


def test_nobody_present_is_nobody_chosen():
    assert len(one_each(np.random.default_rng(0), np.array([0, 1]), np.array([], np.intp), np.empty(0), np.zeros((2, 1)))) == 0
    assert (
        len(one_each(np.random.default_rng(0), np.array([], np.intp), np.array([], np.intp), np.empty(0), np.zeros((0, 1))))
        == 0
    )
