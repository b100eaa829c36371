"""Players move to where they would rather be, one at a time, until nobody wants to: better-response dynamics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from coterie.coalitions.games import Game
from coterie.coalitions.seating import EVERYBODY, Admission, Labels, Seating, canonical


@dataclass(frozen=True, eq=False)
class Course:
    """How the moves went, and where they stopped."""

    labels: Labels
    ended: bool
    """Whether a whole sweep passed without a move. Otherwise the structure is only where the moves were stopped."""
    cycles: bool
    """Whether the same structure came back after a later sweep: proof that these moves never end."""
    sweeps: int
    moves: int


def better_response(
    game: Game,
    start: ArrayLike | None = None,
    admission: Admission = EVERYBODY,
    *,
    max_sweeps: int = 100,
    rng: np.random.Generator | None = None,
) -> Course:
    """Sweeps over the players; each looks at every coalition and at being alone, and takes the best open place.

    Starts from everybody alone unless told otherwise. Players take turns in their own order, or in a new
    random one each sweep where `rng` is given. Not every game has an end: moves stop after `max_sweeps`, or
    (in fixed order) as soon as a structure returns, and the result says so.

    >>> from coterie.coalitions.games import Preference
    >>> course = better_response(Preference(4, lambda player, members: -abs(len(members) - 2)))
    >>> course.labels.tolist(), course.ended, course.moves
    ([0, 0, 1, 1], True, 2)

    Two players who like to be alone, and a third who follows the first: nobody rests.

    >>> def worth(player, members):
    ...     return float(0 in members) if player == 1 else float(1 not in members)
    >>> course = better_response(Preference(2, worth))
    >>> course.ended, course.cycles
    (False, True)
    """
    if max_sweeps < 1:
        raise ValueError(f"max_sweeps: must be a whole number from 1, not {max_sweeps}")
    seating = game.seat(np.arange(game.players) if start is None else start, admission)
    seen: set[bytes] = set()
    moves = 0
    for sweep in range(1, max_sweeps + 1):
        order = np.arange(game.players) if rng is None else rng.permutation(game.players)
        moved = _sweep(seating, order.tolist())
        moves += moved
        labels = canonical(seating.labels, game.players)
        if not moved:
            return Course(labels, True, False, sweep, moves)
        if rng is None and labels.tobytes() in seen:
            return Course(labels, False, True, sweep, moves)
        seen.add(labels.tobytes())
    return Course(labels, False, False, max_sweeps, moves)


def _sweep(seating: Seating, order: list[int]) -> int:
    moved = 0
    for player in order:
        target, _, _ = seating.best(player)
        if target != seating.labels[player]:
            seating.move(player, target)
            moved += 1
    return moved
