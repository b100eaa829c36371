from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.coalitions.games import Additive, Game, Preference, Summed
from coterie.coalitions.optimal_sharing import sharing_game
from coterie.coalitions.seating import Admission
from coterie.coalitions.stability import blocking_set, certify, stable_structures, structures
from tests.oracles import hedonic

NUMBERS = st.integers(-4, 4)


def ranked(values: np.ndarray) -> Preference:
    """Any preference at all: a table of worths by player and set."""
    return Preference(len(values), lambda player, group: float(values[player, sum(1 << member for member in group)]))


def plain(game: Game) -> hedonic.Worth:
    """The worth that a game gives to one member of one set, by itself."""

    def worth(player: int, group: frozenset[int]) -> float:
        members = np.isin(np.arange(game.players), list(group))
        return float(game.worths(members[np.newaxis])[0, player])

    return worth


@st.composite
def games(draw: st.DrawFn, most: int = 5) -> Game:
    n = draw(st.integers(1, most))
    kind = draw(st.sampled_from(["ranked", "additive", "average", "sizes", "coarse", "fine"]))
    seed = draw(st.integers(0, 10**6))
    dice = np.random.Generator(np.random.PCG64(seed))
    if kind == "ranked":
        return ranked(dice.integers(-3, 4, size=(n, 1 << n)))
    if kind in ("additive", "average"):
        liking = dice.integers(-3, 4, size=(n, n)).astype(float)
        liking[(dice.random((n, n)) < 0.15) & ~np.eye(n, dtype=bool)] = -np.inf
        return Additive(liking, kind == "average", draw(st.sampled_from([None, 0.0, 1.0])))
    if kind == "sizes":
        goal = dice.integers(1, n + 1, size=n).astype(float)
        return Summed(np.column_stack([np.ones(n), goal]), lambda own, sums: -np.abs(own[..., 1] - sums[..., 0]))
    sizes = np.exp(dice.uniform(0, 4, size=n))
    return sharing_game(sizes, 10 / sizes, 1.0, kind)  # type: ignore[arg-type]


@st.composite
def admissions(draw: st.DrawFn, players: int) -> Admission:
    bars = draw(st.sampled_from(["none", "some", "pairs"]))
    dice = np.random.Generator(np.random.PCG64(draw(st.integers(0, 10**6))))
    barred = {"none": None, "some": dice.random(players) < 0.3, "pairs": dice.random((players, players)) < 0.2}[bars]
    return Admission(barred=barred, max_size=draw(st.sampled_from([None, 1, 2, 3])))


def bars_of(admission: Admission, players: int) -> list[list[bool]]:
    bars = np.zeros((players, players), bool) if admission.barred is None else admission.barred
    return np.broadcast_to(bars, (players, players)).tolist()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_certificates_agree_with_the_definitions_over_all_structures(data):
    game = data.draw(games())
    admission = data.draw(admissions(game.players))
    worth, bars, most = plain(game), bars_of(admission, game.players), admission.max_size or game.players
    for structure in hedonic.all_structures(list(range(game.players))):
        found = certify(game, hedonic.labels_of(structure, game.players), admission)
        assert found.nash == hedonic.nash(worth, structure, bars, most)
        assert found.individual == hedonic.individual(worth, structure, bars, most)
        assert found.core == hedonic.core(worth, structure, bars, most)


@pytest.mark.parametrize("seed", range(2))
def test_certificates_agree_over_all_877_structures_of_seven_players(seed):
    game = ranked(np.random.Generator(np.random.PCG64(seed)).integers(-2, 3, size=(7, 128)))
    bars = [[False] * 7] * 7
    stable = [0, 0, 0]
    for structure in hedonic.all_structures(list(range(7))):
        found = certify(game, hedonic.labels_of(structure, 7))
        truth = [notion(game.worth, structure, bars, 7) for notion in (hedonic.nash, hedonic.individual, hedonic.core)]
        assert [found.nash, found.individual, found.core] == truth
        stable = [count + good for count, good in zip(stable, truth, strict=True)]
    assert stable[1] >= stable[0]


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_a_witness_is_a_deviation_that_its_movers_gain_by(data):
    game = data.draw(games())
    labels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=game.players, max_size=game.players)))
    found, worth = certify(game, labels), plain(game)
    own = [frozenset(np.flatnonzero(labels == labels[player]).tolist()) for player in range(game.players)]
    for witness in (found.against_nash, found.against_individual, found.against_core):
        if witness is None:
            continue
        then = frozenset(witness.together)
        gains = [worth(mover, then) - worth(mover, own[mover]) for mover in witness.movers]
        assert min(gains) > 0
        assert min(gains) == pytest.approx(witness.gain)
    if found.against_individual is not None:
        stay = set(found.against_individual.together) - set(found.against_individual.movers)
        assert all(worth(member, frozenset(found.against_individual.together)) >= worth(member, own[member]) for member in stay)


def test_a_known_game_without_a_nash_stable_structure():
    def worth(player: int, group: frozenset[int]) -> float:
        return float(0 in group) if player == 1 else float(1 not in group)

    runaway = Preference(2, worth)
    assert stable_structures(runaway, "nash") == []
    assert stable_structures(runaway, "individual") == [(0, 1)]


def test_structures_that_cannot_come_about_are_not_listed():
    crowd = Summed(np.ones((3, 1)), lambda own, sums: sums[..., 0])
    assert stable_structures(crowd, "nash") == [(0, 0, 0)]
    assert stable_structures(crowd, "nash", Admission(max_size=2)) == [(0, 0, 1), (0, 1, 0), (0, 1, 1)]
    assert stable_structures(crowd, "nash", Admission(barred=np.array([True, False, False]))) == [(0, 1, 1)]


def test_structures_are_counted_by_bell():
    assert [sum(1 for _ in structures(n)) for n in range(8)] == [1, 1, 2, 5, 15, 52, 203, 877]
    assert len(set(structures(6))) == 203


def test_the_core_says_when_it_was_not_looked_at():
    crowd = Summed(np.ones((13, 1)), lambda own, sums: sums[..., 0])
    assert certify(crowd, np.zeros(13, int)).facts() == {"nash": True, "individual": True, "core": None, "witnesses": {}}
    with pytest.raises(ValueError, match="up to 12 players, not 13"):
        blocking_set(crowd, np.zeros(13, int))


def test_consent_changes_no_verdict():
    pairs = Preference(3, lambda player, members: -abs(len(members) - 2))
    for labels in structures(3):
        assert certify(pairs, labels) == certify(pairs, labels, replace(Admission(), consent="individual"))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: certify(Preference(2, lambda p, m: 0.0), [0]), "one whole number for each of the 2 players"),
        (lambda: certify(Preference(2, lambda p, m: 0.0), [0.0, 1.0]), "one whole number"),
        (lambda: certify(Preference(2, lambda p, m: 0.0), [0, -1]), "no label may be negative"),
        (lambda: certify(Preference(2, lambda p, m: 0.0), [0, 1], Admission(barred=np.zeros(3, bool))), "barred: must be"),
        (lambda: Admission(consent="all"), "'free' or 'individual'"),
        (lambda: Admission(max_size=0), "max_size"),
        (lambda: Additive(np.ones((2, 3))), "players × players"),
        (lambda: Additive(np.full((2, 2), np.nan)), "finite"),
        (lambda: Summed(np.ones(3), lambda own, sums: own[..., 0]), "players × facts"),
    ],
)
def test_impossible_questions_are_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()
