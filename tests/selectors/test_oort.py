import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from coterie import play
from coterie.catalog import oort
from coterie.roster import Roster
from coterie.selectors import Oort
from coterie.selectors.oort import Seen, expected_seconds, percentile
from coterie.testing import Toy
from tests.oracles import oort as plain

positive = st.floats(1e-3, 1e4)


def seen(utility, seconds=None, last=None, times=None, percent=100.0):
    n = len(utility)
    seconds = np.ones(n) if seconds is None else np.array(seconds, float)
    last = np.ones(n, int) if last is None else np.array(last)
    times = np.ones(n, int) if times is None else np.array(times)
    return Seen(np.array(utility, float), seconds, last, times, percent)


@given(
    st.lists(st.tuples(positive, st.integers(1, 30), positive), min_size=1, max_size=15),
    st.floats(0.1, 100),
    st.floats(0.05, 1),
    st.floats(0, 3),
)
def test_scores_are_the_formula(rows, limit, clip, penalty):
    utility, last, seconds = (list(column) for column in zip(*rows, strict=True))
    rule = Oort(5, clip=clip, penalty=penalty)
    known = np.arange(len(rows))
    got = rule.scores(31, seen(utility, seconds, last), known) * rule.slowness(np.array(seconds), limit)
    np.testing.assert_allclose(got, plain.scores(31, utility, last, seconds, limit, clip, penalty), rtol=1e-9)


@given(st.lists(positive, min_size=1, max_size=12), st.integers(1, 12), st.floats(0, 1), st.integers(0, 50))
def test_exploits_only_those_near_the_last_rank_that_counts(scores, count, cutoff, seed):
    picked = Oort(5, cutoff=cutoff).exploit(np.random.default_rng(seed), np.arange(len(scores)), np.array(scores), count)
    assert set(picked.tolist()) <= set(plain.exploitable(scores, count, cutoff))
    assert len(picked) == min(count, len(scores))


def test_exploited_are_drawn_in_proportion_to_their_scores():
    scores, times = np.array([1.0, 3.0, 4.0, 0.1]), 12_000
    rng, rule = np.random.default_rng(1), Oort(5, cutoff=0.3)
    drawn = [int(rule.exploit(rng, np.arange(4), scores, 1)[0]) for _ in range(times)]
    assert 3 not in drawn
    assert chisquare(np.bincount(drawn), times * np.array([1, 3, 4]) / 8).pvalue > 0.001


def test_new_clients_come_from_the_most_promising_in_proportion():
    guesses, times = np.array([5.0, 1.0, 10.0, 5.0, 0.1]), 12_000
    rng, rule = np.random.default_rng(3), Oort(5, window=3)
    drawn = [int(rule.explore(rng, np.arange(5), guesses, 1)[0]) for _ in range(times)]
    assert set(drawn) == {0, 2, 3}
    assert chisquare(np.bincount(drawn)[[0, 2, 3]], times * np.array([5, 10, 5]) / 20).pvalue > 0.001


def test_new_clients_are_fewer_every_round_down_to_the_floor():
    rule = Oort(10, exploration=0.9, decay=0.5, exploration_min=0.2)
    assert [rule.explored_of(t) for t in (1, 2, 3, 4)] == [9, 5, 3, 2]


def test_where_nobody_is_new_all_are_exploited_and_the_other_way_round():
    toy = Toy(clients=6)
    assert len(Oort(4).choose(toy.view(1), seen([1.0] * 6))) == 4
    assert len(Oort(4).choose(toy.view(1), Oort(4).begin(toy.roster))) == 4


def test_a_slow_client_loses_and_a_fast_one_does_not():
    state = seen([1.0, 1.0, 1.0, 1.0], seconds=[1, 1, 1, 50], percent=50.0)
    toy = Toy(clients=4)
    drawn = [Oort(1, exploration=0.0, exploration_min=0.0).choose(toy.view(t).towards("c"), state) for t in range(1, 300)]
    assert set(np.concatenate(drawn).tolist()) == {0, 1, 2}


def test_who_has_trained_too_often_is_left_out():
    state = seen([9.0, 1.0], times=[4, 3])
    assert Oort(2, max_times=3).choose(Toy(clients=2).view(5), state).tolist() == [1]


def test_seconds_of_the_new_follow_from_size_and_speed():
    roster = Roster.of("abc", size=[10, 20, 40], speed=[1.0, 2.0, 1.0])
    np.testing.assert_allclose(expected_seconds(roster, np.array([30.0, np.nan, np.nan])), [30, 30, 120])
    np.testing.assert_allclose(expected_seconds(roster, np.full(3, np.nan)), [10, 10, 40])


def test_no_limit_where_nothing_is_known_or_none_is_wanted():
    assert percentile(np.full(3, np.nan), 30) == math.inf
    assert percentile(np.array([1.0, 2.0]), 100) == math.inf
    assert percentile(np.array([3.0, 1.0, np.nan, 2.0]), 34) == 2.0


@pytest.mark.parametrize(
    ("pacer", "gains", "expected"),
    [
        ("code", (1.0, 1.0, 1.0, 1.05), 40.0),
        ("code", (1.0, 1.0, 2.0, 2.0), 30.0),
        ("code", (1.0, 1.0, 6.0, 6.0), 20.0),
        ("paper", (2.0, 1.0, 1.0, 1.0), 40.0),
        ("paper", (1.0, 1.0, 1.0, 2.0), 30.0),
        ("paper", (1.0, 1.0, 6.0, 6.0), 30.0),
    ],
)
def test_the_pacer_compares_two_windows(pacer, gains, expected):
    rule = Oort(2, pacer=pacer, pacer_step=2)
    state = replace(seen([1.0], percent=30.0), gains=gains)
    assert rule.paced(4, state) == expected
    assert rule.paced(5, state) == 30.0
    assert rule.paced(4, replace(state, gains=gains[:3])) == 30.0


def test_learns_utility_seconds_and_counts_from_replies():
    toy = Toy(clients=6, seed=2)
    record = next(play(oort(3), toy, 1))
    state, trained = record.state["selector"], record.answered
    sizes = toy.roster["size"][trained]
    np.testing.assert_allclose(state.utility[trained], sizes * record.facts["loss_rms"])
    np.testing.assert_allclose(state.seconds[trained], sizes / toy.roster["speed"][trained])
    assert state.last[trained].tolist() == [1, 1, 1]
    assert np.isnan(np.delete(state.utility, trained)).all()


def test_remembers_no_more_gains_than_the_pacer_needs():
    records = list(play(oort(3, pacer_step=2), Toy(clients=5, seed=2), 9))
    assert len(records[-1].state["selector"].gains) == 4


def test_refuses_what_cannot_be():
    with pytest.raises(ValueError, match=r"decay: must be in \(0, 1\], not 2"):
        Oort(5, decay=2)
