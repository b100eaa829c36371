import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from coterie.coalitions.data_scores import Worth, class_diversity, entropy
from tests.oracles import stackfed

POPULATIONS = st.tuples(st.integers(1, 6), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 9))
)


@settings(max_examples=150, deadline=None)
@given(POPULATIONS, st.tuples(*[st.floats(0.1, 3)] * 3))
def test_scores_are_those_of_a_plain_loop(counts, weights):
    worth = Worth.within(counts, weights)
    expected = [stackfed.score(row, counts.tolist(), weights) for row in counts.tolist()]
    np.testing.assert_allclose(worth.score(counts), expected, rtol=1e-12, atol=1e-15)
    pairs = [stackfed.score(stackfed.pooled(counts[0].tolist(), row), counts.tolist(), weights) for row in counts.tolist()]
    np.testing.assert_allclose(worth.together(counts[0], counts), pairs, rtol=1e-12, atol=1e-15)


def test_the_source_s_example():
    """Three of ten digits make a class score of 0.3."""
    held = np.zeros((2, 10), np.int64)
    held[0, [3, 5, 8]], held[1] = 10, 7
    coverage, volume, spread = Worth.within(held).parts(held[0])
    assert (coverage, volume) == (0.3, 0.3)
    assert spread == pytest.approx(np.log(3))


@settings(max_examples=60, deadline=None)
@given(POPULATIONS)
def test_a_group_is_worth_at_least_each_of_its_members_in_classes_and_volume(counts):
    worth = Worth.within(counts)
    coverage, volume, _ = worth.parts(counts.sum(axis=0))
    alone = worth.parts(counts)
    assert (coverage + 1e-12 >= alone[0]).all() and (volume + 1e-12 >= alone[1]).all()
    assert entropy(0.0, 0.0) == 0


def test_large_counts_and_small_ones_have_the_same_scores():
    small = np.array([[3, 5, 0], [4, 4, 1]])
    large = small * 10**6
    np.testing.assert_allclose(Worth.within(small).score(small), Worth.within(large).score(large), rtol=1e-9)


def test_nobody_holds_anything():
    assert Worth.within(np.zeros((3, 4), int)).score(np.zeros((3, 4), int)).tolist() == [0, 0, 0]
    assert class_diversity(np.zeros((3, 4), int)) == 0


def test_diversity_is_of_pooled_data():
    assert class_diversity([[1, 3], [3, 1]]) == 1.0
    assert class_diversity([3, 1]) == pytest.approx(1 / 3)
    assert class_diversity([[5, 0]]) == 0
