"""Whether a coalition structure would last: Nash, individual and core stability, each with a witness if it would not.

- **Nash**: no player would rather be in another coalition that it may join, or alone.
- **Individual**: no player would, and be let in without loss to any member (Bogomolnaia and Jackson, 2002).
- **Core**: no set of players would all rather be together. Looked at set by set, so up to 12 players.

Who may join is the `Admission`'s to say: bars and sizes bind in all three, its `consent` in none, as the notions
themselves say whom a newcomer has to ask.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Int
from numpy.typing import ArrayLike

from coterie.coalitions.dynamics import Course
from coterie.coalitions.games import Game
from coterie.coalitions.seating import ALONE, EVERYBODY, Admission, canonical, prefers
from coterie.plan import Coalitions

CORE_PLAYERS = 12
"""The core is looked at up to this many players: 4,095 sets."""


@dataclass(frozen=True)
class Deviation:
    """Players who would rather be together than stay where they are: the witness that a structure does not last."""

    movers: tuple[int, ...]
    together: tuple[int, ...]
    """The coalition that they would make, with those who are there already."""
    gain: float
    """What the move is worth to the mover who gains least."""


@dataclass(frozen=True)
class Certificate:
    """What was found: a witness against each notion, or None where the structure is stable."""

    against_nash: Deviation | None
    against_individual: Deviation | None
    against_core: Deviation | None
    core_checked: bool
    """False where there are too many players to look."""

    @property
    def nash(self) -> bool:
        """Nash stable."""
        return self.against_nash is None

    @property
    def individual(self) -> bool:
        """Individually stable."""
        return self.against_individual is None

    @property
    def core(self) -> bool | None:
        """Core stable; None where it was not looked at."""
        return self.against_core is None if self.core_checked else None

    def facts(self) -> dict[str, Any]:
        """The verdict as plain values, as `Coalitions.certificate` holds it."""
        found = {"nash": self.against_nash, "individual": self.against_individual, "core": self.against_core}
        witnesses = {name: asdict(deviation) for name, deviation in found.items() if deviation is not None}
        return {"nash": self.nash, "individual": self.individual, "core": self.core, "witnesses": witnesses}


def certify(game: Game, labels: ArrayLike, admission: Admission = EVERYBODY) -> Certificate:
    """Looks for a deviation of each kind.

    >>> from coterie.coalitions.games import Preference
    >>> pairs = Preference(3, lambda player, members: -abs(len(members) - 2))
    >>> certificate = certify(pairs, [0, 1, 2])
    >>> certificate.nash, certificate.against_nash
    (False, Deviation(movers=(0,), together=(0, 1), gain=1.0))
    >>> certify(pairs, [0, 0, 1]).facts()["individual"]
    True
    """
    nash = single_deviation(game, labels, replace(admission, consent="free"))
    individual = nash and single_deviation(game, labels, replace(admission, consent="individual"))
    small = game.players <= CORE_PLAYERS
    return Certificate(nash, individual, blocking_set(game, labels, admission) if small else None, small)


def single_deviation(game: Game, labels: ArrayLike, admission: Admission = EVERYBODY) -> Deviation | None:
    """The first player who has a better place that is open to it, and the best such place."""
    seating = game.seat(labels, admission)
    for player in range(game.players):
        target, there, here = seating.best(player)
        if target != seating.labels[player]:
            joined = [] if target == ALONE else seating.members(target).tolist()
            return Deviation((player,), tuple(sorted([*joined, player])), there - here)
    return None


def blocking_set(game: Game, labels: ArrayLike, admission: Admission = EVERYBODY) -> Deviation | None:
    """The set of players, if any, who would all rather be together; of several, the one whose least gain is largest."""
    if game.players > CORE_PLAYERS:
        raise ValueError(f"core: looked at up to {CORE_PLAYERS} players, not {game.players}")
    structure = canonical(labels, game.players)
    sets = _all_sets(game.players)
    here = game.worths(_coalitions(structure)).max(axis=0, initial=-np.inf)
    there = game.worths(sets)
    blocks = (prefers(there, here) | ~sets).all(axis=1) & admission.allows(sets)
    if not blocks.any():
        return None
    gains = np.subtract(there, here, out=np.full(there.shape, np.inf), where=sets & np.isfinite(there)).min(axis=1)
    chosen = int(np.where(blocks, gains, -np.inf).argmax())
    movers = tuple(np.flatnonzero(sets[chosen]).tolist())
    return Deviation(movers, movers, float(gains[chosen]))


def certified(course: Course, game: Game, admission: Admission = EVERYBODY, **facts: Any) -> Coalitions:
    """The structure where the moves stopped, with what is known of it: the certificate, and how the moves went."""
    went = {"ended": course.ended, "cycles": course.cycles, "sweeps": course.sweeps, "moves": course.moves}
    return Coalitions(course.labels, certificate={**certify(game, course.labels, admission).facts(), **went, **facts})


def structures(players: int) -> Iterator[tuple[int, ...]]:
    """Every coalition structure once, as canonical labels: 5 for 3 players, 877 for 7, 21,147 for 9.

    >>> list(structures(3))
    [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]
    """
    if players == 0:
        yield ()
        return
    for rest in structures(players - 1):
        for label in range(max(rest, default=-1) + 2):
            yield (*rest, label)


def stable_structures(
    game: Game, notion: Literal["nash", "individual"] = "nash", admission: Admission = EVERYBODY
) -> list[tuple[int, ...]]:
    """Every stable structure that the admission lets come about, by looking at all: for up to about nine players."""
    consent: Literal["free", "individual"] = "individual" if notion == "individual" else "free"
    rule = replace(admission, consent=consent)
    possible = (labels for labels in structures(game.players) if admission.allows(_coalitions(labels)).all())
    return [labels for labels in possible if single_deviation(game, labels, rule) is None]


def _coalitions(labels: ArrayLike) -> Bool[np.ndarray, "coalitions players"]:
    structure = np.asarray(labels, np.intp)
    return np.equal(structure, np.arange(structure.max(initial=-1) + 1)[:, np.newaxis])


def _all_sets(players: int) -> Bool[np.ndarray, "sets players"]:
    codes: Int[np.ndarray, " sets"] = np.arange(1, 1 << players)
    return (codes[:, np.newaxis] >> np.arange(players) & 1).astype(bool)
