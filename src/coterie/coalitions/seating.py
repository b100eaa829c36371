"""Who sits with whom while players move, and which places a player may take."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike, NDArray

Labels = NDArray[np.intp]
"""For each player the number of its coalition, 0…k−1."""

ALONE = -1
"""The target of a player who goes to be alone."""

TOLERANCE = 1e-10
"""Two worths that differ by less than this share of the larger one are a tie."""


@dataclass(frozen=True, eq=False)
class Admission:
    """Which newcomers a coalition lets in.

    >>> Admission(max_size=0)
    Traceback (most recent call last):
    ValueError: max_size: must be a whole number from 1, not 0
    """

    consent: Literal["free", "individual"] = "free"
    """'free': nobody is asked. 'individual': no member may lose by it."""
    barred: Bool[np.ndarray, " players"] | Bool[np.ndarray, "members newcomers"] | None = None
    """Newcomers whom nobody lets in, or, per member, whom that member does not let in. Being alone is always open."""
    max_size: int | None = None
    """Larger coalitions do not come about."""

    def __post_init__(self) -> None:
        if self.consent not in ("free", "individual"):
            raise ValueError(f"consent: must be 'free' or 'individual', not {self.consent!r}")
        if self.max_size is not None and self.max_size < 1:
            raise ValueError(f"max_size: must be a whole number from 1, not {self.max_size}")

    def closed(self, player: int, labels: Labels, counts: NDArray[np.intp]) -> Bool[np.ndarray, " coalitions"]:
        """Which coalitions may not take the player in, whatever it is worth to anybody."""
        full = np.zeros(len(counts), bool) if self.max_size is None else counts >= self.max_size
        if self.barred is None:
            return full
        if self.barred.ndim == 1:
            return np.full(len(counts), True) if self.barred[player] else full
        full[labels[self.barred[:, player]]] = True
        return full

    def allows(self, sets: Bool[np.ndarray, "sets players"]) -> Bool[np.ndarray, " sets"]:
        """Which sets of players may be a coalition."""
        size = sets.sum(axis=1)
        fits: Bool[np.ndarray, " sets"] = np.ones(len(sets), bool) if self.max_size is None else size <= self.max_size
        if self.barred is None:
            return fits
        if self.barred.ndim == 1:
            fits &= (size == 1) | ~(sets & self.barred).any(axis=1)
            return fits
        others = self.barred & ~np.eye(len(self.barred), dtype=bool)
        refused: Bool[np.ndarray, "sets players"] = (sets.astype(np.float64) @ others) > 0
        fits &= ~(refused & sets).any(axis=1)
        return fits


EVERYBODY = Admission()
"""Nobody is asked, barred or too many."""


class Seating(ABC):
    """A coalition structure while players move: what each has, and what the other places would give it.

    Coalitions are numbered 0…k−1 without gaps at any time. What a place is worth comes from the game's subclass.
    """

    def __init__(self, labels: ArrayLike, players: int, admission: Admission) -> None:
        self.labels = canonical(labels, players)
        self.counts = np.bincount(self.labels).astype(np.intp)
        self.admission = admission
        _check_bars(admission, players)

    @abstractmethod
    def offers(self, player: int) -> Float[np.ndarray, " coalitions"]:
        """What each coalition would be worth to the player with it inside; its own as it is."""

    @abstractmethod
    def solo(self, player: int) -> float:
        """What it is worth to the player to be alone."""

    @abstractmethod
    def agree(self, player: int, target: int) -> bool:
        """Whether no member of the target would lose by the player's coming."""

    @abstractmethod
    def carry(self, player: int, source: int, target: int) -> None:
        """Keeps the game's own sums in step with a move; the target may be a new, empty coalition."""

    @abstractmethod
    def close(self, gap: int, last: int) -> None:
        """Drops the empty coalition `gap`; the last one takes its number."""

    def members(self, coalition: int) -> NDArray[np.intp]:
        """The players of one coalition."""
        return np.flatnonzero(self.labels == coalition)

    def best(self, player: int) -> tuple[int, float, float]:
        """The best move open to a player: its target, what that is worth, and what the player has now.

        Without an open move that it prefers, the target is where it is.
        """
        own = int(self.labels[player])
        worth = self.offers(player)
        here = float(worth[own])
        worth[self.admission.closed(player, self.labels, self.counts)] = -np.inf
        worth[own] = -np.inf
        solo = self.solo(player) if self.counts[own] > 1 else -np.inf
        target, there = self._welcome(player, worth, max(here, solo))
        if target is not None:
            return target, there, here
        return (ALONE, solo, here) if prefers(solo, here) else (own, here, here)

    def _welcome(self, player: int, worth: Float[np.ndarray, " coalitions"], over: float) -> tuple[int | None, float]:
        """The best coalition that beats `over` and lets the player in."""
        if self.admission.consent == "free":
            top = int(worth.argmax())
            return (top, float(worth[top])) if prefers(float(worth[top]), over) else (None, over)
        better = np.flatnonzero(prefers(worth, over))
        for target in better[np.argsort(-worth[better], kind="stable")].tolist():
            if self.agree(player, target):
                return target, float(worth[target])
        return None, over

    def move(self, player: int, target: int) -> None:
        """Seats a player elsewhere."""
        source = int(self.labels[player])
        if target == ALONE:
            target = len(self.counts)
            self.counts = np.append(self.counts, 0)
        self.carry(player, source, target)
        self.labels[player] = target
        self.counts[source] -= 1
        self.counts[target] += 1
        if self.counts[source] == 0:
            self._drop(source)

    def _drop(self, gap: int) -> None:
        last = len(self.counts) - 1
        self.close(gap, last)
        self.labels[self.labels == last] = gap
        self.counts[gap] = self.counts[last]
        self.counts = self.counts[:-1]


def prefers(there: Any, here: Any) -> Any:
    """Whether one worth is more than another by more than rounding; for numbers or arrays.

    >>> prefers(0.1 + 0.2, 0.3), prefers(1.0, -np.inf), prefers(-np.inf, -np.inf)
    (False, True, False)
    """
    if isinstance(there, float) and isinstance(here, float):
        return there > here and (here == -inf or there - here > TOLERANCE * max(abs(there), abs(here)))
    with np.errstate(invalid="ignore"):
        clear = np.abs(np.subtract(there, here)) > TOLERANCE * np.minimum(np.maximum(np.abs(there), np.abs(here)), 1e300)
    return np.greater(there, here) & clear


def canonical(labels: ArrayLike, players: int) -> Labels:
    """The same structure with coalitions numbered by their first member.

    >>> canonical([7, 3, 7], 3).tolist()
    [0, 1, 0]
    """
    given = np.asarray(labels)
    if given.shape != (players,) or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"labels: must be one whole number for each of the {players} players, not {given.dtype} {given.shape}")
    if players and given.min() < 0:
        raise ValueError("labels: every player must be in a coalition, so no label may be negative")
    _, first, inverse = np.unique(given, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.intp)


def _check_bars(admission: Admission, players: int) -> None:
    bars = admission.barred
    if bars is not None and (bars.shape not in ((players,), (players, players)) or bars.dtype != bool):
        raise ValueError(f"barred: must be booleans, ({players},) or ({players}, {players}), not {bars.dtype} {bars.shape}")
