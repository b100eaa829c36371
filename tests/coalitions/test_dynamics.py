import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import seeds
from coterie.coalitions.dynamics import better_response
from coterie.coalitions.games import Additive, Preference, Summed
from coterie.coalitions.seating import Admission
from coterie.coalitions.stability import certified, certify, single_deviation


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 8), st.integers(0, 10**6), st.sampled_from(["free", "individual"]))
def test_where_moves_end_nobody_has_an_open_move_left(players, seed, consent):
    dice = np.random.Generator(np.random.PCG64(seed))
    game, admission = Additive(dice.integers(-3, 4, (players, players)).astype(float)), Admission(consent)
    course = better_response(game, dice.integers(0, 3, players), admission, max_sweeps=30)
    if course.ended:
        assert single_deviation(game, course.labels, admission) is None
    else:
        assert course.cycles or course.sweeps == 30


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 7), st.integers(0, 10**6))
def test_friends_who_like_each_other_alike_always_end_at_nash(players, seed):
    """Symmetric additive games have a potential, so better responses end (Bogomolnaia and Jackson, 2002)."""
    liking = np.random.Generator(np.random.PCG64(seed)).integers(-3, 4, (players, players)).astype(float)
    game = Additive(liking + liking.T)
    course = better_response(game, max_sweeps=500)
    assert course.ended
    assert certify(game, course.labels).nash


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 7), st.integers(0, 10**6), st.sampled_from(["free", "individual"]), st.sampled_from([None, 2, 3]))
def test_the_three_ways_to_say_a_game_move_alike(players, seed, consent, max_size):
    dice = np.random.Generator(np.random.PCG64(seed))
    weight = dice.integers(1, 9, players).astype(float)
    admission = Admission(consent, barred=dice.random(players) < 0.2, max_size=max_size)
    start = dice.integers(0, 3, players)
    courses = [
        better_response(game, start, admission, max_sweeps=20)
        for game in (
            Additive(np.broadcast_to(weight, (players, players)), average=True),
            Summed(np.column_stack([weight, np.ones(players)]), lambda own, sums: sums[..., 0] / sums[..., 1]),
            Preference(players, lambda player, group: sum(weight[member] for member in group) / len(group)),
        )
    ]
    assert len({(course.labels.tobytes(), course.ended, course.moves) for course in courses}) == 1


def test_a_return_of_the_same_structure_is_told_as_a_cycle():
    runaway = Preference(2, lambda player, group: float(0 in group) if player == 1 else float(1 not in group))
    course = better_response(runaway, max_sweeps=1000)
    assert (course.ended, course.cycles) == (False, True)
    assert course.sweeps < 10
    coalitions = certified(course, runaway)
    assert coalitions.certificate["ended"] is False
    assert coalitions.certificate["nash"] is False
    assert coalitions.certificate["witnesses"]["nash"]["gain"] == 1.0


def test_moves_that_are_stopped_say_so():
    runaway = Preference(2, lambda player, group: float(0 in group) if player == 1 else float(1 not in group))
    course = better_response(runaway, max_sweeps=7, rng=seeds.rng(1, "order"))
    assert (course.ended, course.cycles, course.sweeps) == (False, False, 7)
    with pytest.raises(ValueError, match="max_sweeps: must be a whole number from 1, not 0"):
        better_response(runaway, max_sweeps=0)


def test_bars_and_sizes_hold_on_the_way():
    crowd = Summed(np.ones((9, 1)), lambda own, sums: sums[..., 0])
    course = better_response(crowd, admission=Admission(barred=np.arange(9) == 4, max_size=3))
    assert sorted(np.bincount(course.labels).tolist()) == [1, 2, 3, 3]
    assert np.bincount(course.labels)[course.labels[4]] == 1


def test_a_member_may_bar_one_newcomer_for_its_coalition():
    bars = np.zeros((3, 3), bool)
    bars[0, 2] = True
    crowd = Summed(np.ones((3, 1)), lambda own, sums: sums[..., 0])
    assert better_response(crowd, admission=Admission(barred=bars)).labels.tolist() == [0, 0, 1]


def test_consent_keeps_out_whom_a_member_loses_by():
    game = Additive(np.array([[0.0, -1.0], [1.0, 0.0]]))
    assert better_response(game, admission=Admission("free")).cycles
    course = better_response(game, admission=Admission("individual"))
    assert course.ended
    assert course.labels.tolist() == [0, 1]


def test_one_and_no_players():
    for players in (0, 1):
        course = better_response(Preference(players, lambda player, group: 0.0))
        assert course.ended
        assert len(course.labels) == players
