import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import seeds
from coterie.trust.recommendations import Experience, Words, companions, overall_trust, subjective_trust, word
from tests.oracles import trust as oracle

SHARE = st.integers(0, 10).map(lambda tenth: tenth / 10)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(SHARE, st.lists(SHARE, max_size=6)), min_size=1, max_size=6), st.sampled_from(["mean", "median"]))
def test_both_kinds_of_trust_together_are_the_equation(devices, how):
    own, words = [device[0] for device in devices], [device[1] for device in devices]
    said = Words(np.repeat(np.arange(len(own)), [len(heard) for heard in words]), np.concatenate([np.array(w) for w in words]))
    mixed = np.random.Generator(np.random.PCG64(1)).permutation(len(said.about))
    found = overall_trust(own, Words(said.about[mixed], said.words[mixed]), how)
    np.testing.assert_allclose(found, oracle.overall(own, words, how))
    for i, heard in enumerate(words):
        if heard and how == "mean":
            assert found[i] == pytest.approx((len(heard) * own[i] + sum(heard)) / (2 * len(heard)))


def test_experience_counts_common_rounds_and_nobody_speaks_of_itself():
    seen = Experience.none(4)
    for good in (True, True, False):
        seen = seen.after(companions([0, 0, 1, -1]), [good, True, True, True])
    said = seen.words()
    assert sorted(zip(said.about.tolist(), said.words.tolist(), strict=True)) == [(0, 3 / 5), (1, 4 / 5)]
    assert np.isnan(subjective_trust(said, 4)[2:]).all()


def test_observers_may_have_seen_different_things():
    seen = Experience.none(3).after(companions([0, 0, 0]), np.array([[1, 1, 0], [1, 1, 1], [0, 0, 1]], bool))
    said = seen.words()
    assert subjective_trust(said, 3).round(4).tolist() == [0.5, 0.5, 0.5]
    assert sorted(said.words.tolist()) == pytest.approx([1 / 3] * 3 + [2 / 3] * 3)


@pytest.mark.parametrize(("stuffers", "expected"), [(0, 0.15), (2, 0.24), (3, 0.285)])
def test_colluders_raise_a_mean_by_as_many_as_they_are(stuffers, expected):
    words = np.where(np.arange(10) < stuffers, 1.0, 0.1)
    assert overall_trust([0.2], Words(np.zeros(10, int), words))[0] == pytest.approx(expected)


def test_a_median_is_not_moved_past_honest_words_by_fewer_than_half():
    dice = seeds.rng(1, "liars")
    for lie in (0.0, 1.0):
        honest = dice.uniform(0.55, 0.65, 20)
        words = np.where(np.arange(20) < 6, lie, honest)
        truth = overall_trust([0.9], Words(np.zeros(20, int), honest))[0]
        assert abs(overall_trust([0.9], Words(np.zeros(20, int), words), "median")[0] - truth) <= 0.1
        assert honest.min() <= subjective_trust(Words(np.zeros(20, int), words), 1, "median")[0] <= honest.max()


def test_bad_mouthing_cannot_bring_a_hard_worker_below_one_half():
    for liars in (1, 10, 100):
        assert overall_trust([1.0], Words(np.zeros(liars, int), np.zeros(liars)))[0] == 0.5


def test_a_word_starts_in_the_middle_and_follows_experience():
    assert word(0, 0) == 0.5
    assert word([90], [10])[0] == pytest.approx(0.892, abs=1e-3)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Words(np.zeros(2, int), np.array([0.5])), "one device for each word"),
        (lambda: Words(np.zeros(1, int), np.array([1.5])), r"in \[0, 1\]"),
        (lambda: Words(np.zeros(1, int), np.array([np.nan])), r"in \[0, 1\]"),
        (lambda: subjective_trust(Words(np.array([3]), np.array([0.5])), 2), "about device 3, but there are 2"),
        (lambda: subjective_trust(Words(np.array([0]), np.array([0.5])), 2, "max"), "'mean' or 'median'"),
        (lambda: overall_trust([1.2], Words(np.array([0]), np.array([0.5]))), "objective"),
    ],
)
def test_impossible_words_are_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()
