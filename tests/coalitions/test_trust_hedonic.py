from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import seeds
from coterie.coalitions.dynamics import better_response
from coterie.coalitions.leaders import Masters
from coterie.coalitions.seating import EVERYBODY, Seating
from coterie.coalitions.stability import single_deviation, stable_structures, structures
from coterie.coalitions.trust_hedonic import TrustHedonic, honest_together, printed_moves, trust_game, vetoes
from coterie.roster import Roster
from coterie.trust import Words, objective_trust, overall_trust
from tests.oracles import hedonic

TENTHS = st.lists(st.integers(0, 10).map(lambda tenth: tenth / 10), min_size=1, max_size=7).map(np.array)


def mixed_trust(seed: int, devices: int, selfish: float = 0.2) -> np.ndarray:
    dice = seeds.rng(seed, "trust")
    lazy = dice.permutation(devices) < selfish * devices
    return np.where(lazy, dice.uniform(0.05, 0.22, devices), dice.uniform(0.6, 1, devices))


@settings(max_examples=150, deadline=None)
@given(TENTHS, st.sampled_from([0.25, 0.5]), st.integers(0, 10**6))
def test_moves_in_random_order_end_at_honest_together_from_any_start(trust, threshold, seed):
    dice = np.random.Generator(np.random.PCG64(seed))
    game, veto = trust_game(trust, threshold), vetoes(trust, threshold)
    course = better_response(game, dice.integers(0, 3, len(trust)), veto, max_sweeps=1000, rng=dice)
    assert course.ended
    honest = trust >= threshold
    assert (np.bincount(course.labels)[course.labels[~honest]] == 1).all()
    if len(np.unique(trust[honest])) == honest.sum():
        np.testing.assert_array_equal(course.labels, honest_together(trust, threshold))


def test_moves_in_a_fixed_order_may_go_in_circles():
    trust = np.array([0.0, 0.3, 0.4, 0.5, 0.6])
    course = better_response(trust_game(trust, 0.25), [0, 1, 2, 1, 2], vetoes(trust, 0.25))
    assert (course.ended, course.cycles) == (False, True)
    assert TrustHedonic(0.25).structure(trust, seeds.rng(1, "form")).labels.tolist() == [0, 1, 1, 1, 1]


@settings(max_examples=60, deadline=None)
@given(TENTHS, st.integers(1, 9).map(lambda tenth: tenth / 10))
def test_what_is_written_down_at_once_is_stable_by_the_definitions(trust, threshold):
    players = len(trust)
    found = TrustHedonic(threshold).structure(trust, seeds.rng(1, "form"))
    assert (found.certificate["ended"], found.certificate["nash"]) == (True, True)

    def worth(player: int, group: frozenset[int]) -> float:
        if any(trust[other] < threshold for other in group if other != player):
            return -np.inf
        return 0.0 if len(group) == 1 else float(np.mean([trust[member] for member in group]))

    groups = [frozenset(found.members(c).tolist()) for c in range(len(found))]
    barred = np.broadcast_to(trust < threshold, (players, players)).tolist()
    assert hedonic.nash(worth, groups, barred, players)
    assert hedonic.individual(worth, groups, barred, players)


def test_exactly_one_structure_is_stable_with_the_veto_and_none_as_printed():
    for seed in range(3):
        trust = mixed_trust(seed, 6, 0.34)
        game, veto = trust_game(trust, 0.5), vetoes(trust, 0.5)
        default = [labels for labels in structures(6) if single_deviation(game, labels, veto) is None]
        assert default == [tuple(honest_together(trust, 0.5).tolist())]
        assert stable_structures(trust_game(trust, 0.5, solo=None), "nash") == []
        assert stable_structures(trust_game(trust, 0.5, solo=None), "individual") == [tuple(range(6))]
        assert stable_structures(trust_game(trust, 0.5), "nash", EVERYBODY) == []


def test_the_printed_moves_do_not_end_and_leave_selfish_devices_inside():
    inside = []
    for seed in range(8):
        trust = mixed_trust(seed, 20)
        found = TrustHedonic(reading="printed", max_sweeps=60).structure(trust, seeds.rng(seed, "form"))
        assert (found.certificate["ended"], found.certificate["nash"]) == (False, False)
        assert found.certificate["sweeps"] == 60
        assert found.certificate["witnesses"]["nash"]["gain"] > 0
        trained = found.sizes[found.labels] > 1
        inside.append((trust[trained] < 0.5).mean())
    assert np.mean(inside) > 0.02


def test_the_printed_moves_end_where_nobody_has_a_reason_to_move():
    course = printed_moves(np.array([0.7, 0.7, 0.7]), 0.5, seeds.rng(1, "form"))
    assert (course.ended, course.moves, course.labels.tolist()) == (True, 0, [0, 1, 2])


def test_two_devices_are_enough_for_moves_without_end():
    """The worse one joins, the better one leaves what it remembers, and the worse one, who did not leave, joins again."""
    course = printed_moves(np.array([0.9, 0.6]), 0.5, seeds.rng(1, "form"))
    assert (course.ended, course.sweeps) == (False, 100)
    assert course.moves > 100


def test_nobody_goes_back_to_the_same_set_that_it_left(monkeypatch):
    trust, left, moves = np.array([0.9, 0.8, 0.7, 0.6]), set(), []
    plain = Seating.move

    def spied(seating: Seating, player: int, target: int) -> None:
        left.add((player, frozenset(seating.members(int(seating.labels[player])).tolist())))
        plain(seating, player, target)
        moves.append((player, frozenset(seating.members(int(seating.labels[player])).tolist())) in left)

    monkeypatch.setattr(Seating, "move", spied)
    printed_moves(trust, 0.5, seeds.rng(1, "form"))
    assert len(moves) > 100
    assert not any(moves)


@pytest.mark.parametrize("devices", [20, 60])
def test_selfish_devices_end_alone_and_honest_ones_inside(devices):
    for seed in range(3):
        trust = mixed_trust(seed, devices)
        for limit in (None, 5):
            found = TrustHedonic(max_size=limit).structure(trust, seeds.rng(seed, "form"))
            trained = found.sizes[found.labels] > 1
            assert not trained[trust < 0.5].any()
            assert trained[trust >= 0.5].mean() >= 15 / 16
            assert found.sizes.max() <= (limit or devices)


def test_with_a_largest_size_there_may_be_nothing_stable_and_the_certificate_says_so():
    trust = np.array([1.0, 0.6, 0.6, 0.6])
    assert stable_structures(trust_game(trust, 0.5), "nash", vetoes(trust, 0.5, 3)) == []
    found = TrustHedonic(max_size=3).structure(trust, seeds.rng(1, "form"))
    assert (found.certificate["ended"], found.certificate["sweeps"], found.certificate["nash"]) == (False, 100, False)
    assert found.certificate["witnesses"]["nash"]["gain"] > 0


def test_viewers_may_differ():
    """Two camps that suspect each other: each is a coalition."""
    trust = np.full((6, 6), 0.9)
    trust[:3, 3:] = trust[3:, :3] = 0.1
    found = TrustHedonic().structure(trust, seeds.rng(1, "form"))
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert (found.certificate["nash"], found.certificate["core"]) == (True, True)


def test_one_common_belief_is_the_same_said_once_or_by_each():
    for seed in range(5):
        trust = mixed_trust(seed, 12)
        one, each = (TrustHedonic().structure(beliefs, seeds.rng(1, "form")) for beliefs in (trust, np.tile(trust, (12, 1))))
        np.testing.assert_array_equal(one.labels, each.labels)


def detected(caught: float, hiccups: float, seed: int, selfish: int = 20, laziness: float = 0.3) -> tuple[float, float]:
    """The whole chain for 100 devices: readings, words of ten peers after ten rounds, trust, coalitions."""
    dice = seeds.rng(seed, "chain")
    benchmark, usage = (dice.normal(0.7, 0.07, (100, 3, 30)).clip(0) for _ in range(2))
    lazy = np.arange(100) < selfish
    usage[lazy] *= laziness
    usage[~lazy] *= np.where(dice.random((100 - selfish, 1, 30)) < hiccups, 0.15, 1.0)
    bad = np.where(lazy[:, np.newaxis], dice.binomial(10, caught, (100, 10)), 0)
    words = Words(np.repeat(np.arange(100), 10), ((1 + 10 - bad) / 12).ravel())
    trust = overall_trust(objective_trust(usage, reference=benchmark), words)
    found = TrustHedonic().structure(trust, seeds.rng(seed, "form"))
    trained = found.sizes[found.labels] > 1
    return lazy[trained].mean(), 1 - trained[~lazy].mean()


@pytest.mark.parametrize(("caught", "hiccups"), [(0.9, 0.0), (0.9, 0.02), (0.5, 0.0), (0.5, 0.02)])
def test_lazy_devices_are_found_and_honest_ones_kept(caught, hiccups):
    runs = np.array([detected(caught, hiccups, seed) for seed in range(20)])
    assert runs.mean(axis=0)[0] <= 0.01
    assert runs.mean(axis=0)[1] <= 0.01


def view_of(present: list[int], trust: np.ndarray, **columns: object) -> SimpleNamespace:
    roster = Roster.of(map(str, range(len(trust))), size=np.ones(len(trust)), trust=trust, **columns)
    return SimpleNamespace(roster=roster, present=np.array(present, np.intp), rng=seeds.rng(1, "form"))


def test_the_former_looks_at_those_who_are_present_and_elects_masters():
    trust = np.array([0.9, 0.1, 0.8, 0.7, 0.95])
    facts = {"cpu": [1, 9, 5, 3, 9], "ram": [1, 9, 5, 3, 9], "bandwidth": [1, 9, 5, 3, 9], "latency": [9, 1, 5, 7, 1]}
    found = TrustHedonic(masters=Masters()).form(view_of([0, 1, 2, 3], trust, **facts), None)
    assert found.labels.tolist() == [0, 1, 0, 0, -1]
    assert found.leaders.tolist() == [2, 1]
    assert found.stand_ins.tolist() == [3, -1]
    plain = TrustHedonic().form(view_of([0, 1, 2, 3], np.tile(trust, (5, 1))), None)
    assert plain.labels.tolist() == found.labels.tolist()
    assert plain.leaders is None
    assert TrustHedonic(masters=Masters()).form(view_of([], trust, **facts), None).labels.tolist() == [-1] * 5


def test_where_nothing_is_known_all_are_new_and_trusted():
    view = SimpleNamespace(roster=Roster.of("abc", size=[1, 1, 1]), present=np.arange(3), rng=seeds.rng(1, "form"))
    assert TrustHedonic().form(view, None).labels.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: TrustHedonic(threshold=1.5), r"threshold: must be in \[0, 1\]"),
        (lambda: TrustHedonic(reading="exact"), "'veto' or 'printed'"),
        (lambda: TrustHedonic(max_size=0), "max_size"),
        (lambda: TrustHedonic(max_size=3, reading="printed"), "no largest size"),
        (lambda: trust_game([0.5, 1.5], 0.5), r"numbers in \[0, 1\]"),
        (lambda: trust_game(np.ones((2, 3)), 0.5), "each viewer and device"),
        (lambda: trust_game([np.nan], 0.5), "trust"),
    ],
)
def test_impossible_settings_are_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()
