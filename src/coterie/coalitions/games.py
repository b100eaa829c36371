"""Hedonic games: what a coalition is worth to each of its members; more is better.

Three ways to say it: any function of a player and a set (`Preference`), a matrix of what players are worth to one
another (`Additive`), or a formula of a player's own numbers and the coalition's sums (`Summed`, the fast one).
A cost is a worth with its sign turned.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike, NDArray

from coterie.coalitions.seating import Admission, Seating, prefers


class Game(ABC):
    """Who likes to be with whom."""

    players: int

    @abstractmethod
    def seat(self, labels: ArrayLike, admission: Admission) -> Seating:
        """Seats the players as a structure says, ready to move."""

    @abstractmethod
    def worths(self, sets: Bool[np.ndarray, "sets players"]) -> Float[np.ndarray, "sets players"]:
        """What each of these coalitions is worth to each of its members; −∞ for those who are not in it."""


@dataclass(frozen=True)
class Preference(Game):
    """Any worth: a function of a player and the set that it is in. For small games, as each look is a call.

    >>> pairs = Preference(3, lambda player, members: -abs(len(members) - 2))
    >>> pairs.worths(np.array([[True, True, False]])).tolist()
    [[0.0, 0.0, -inf]]
    """

    players: int
    worth: Callable[[int, frozenset[int]], float]

    def seat(self, labels: ArrayLike, admission: Admission) -> Seating:
        return _Called(self, labels, admission)

    def worths(self, sets: Bool[np.ndarray, "sets players"]) -> Float[np.ndarray, "sets players"]:
        found = np.full(sets.shape, -np.inf)
        for row, chosen in enumerate(sets):
            members = frozenset(np.flatnonzero(chosen).tolist())
            for player in members:
                found[row, player] = self.worth(player, members)
        return found


class _Called(Seating):
    def __init__(self, game: Preference, labels: ArrayLike, admission: Admission) -> None:
        super().__init__(labels, game.players, admission)
        self.worth = game.worth
        self.sets = [frozenset(self.members(c).tolist()) for c in range(len(self.counts))]

    def offers(self, player: int) -> Float[np.ndarray, " coalitions"]:
        return np.array([self.worth(player, members | {player}) for members in self.sets], np.float64)

    def solo(self, player: int) -> float:
        return float(self.worth(player, frozenset({player})))

    def agree(self, player: int, target: int) -> bool:
        now, then = self.sets[target], self.sets[target] | {player}
        return not any(prefers(self.worth(member, now), self.worth(member, then)) for member in now)

    def carry(self, player: int, source: int, target: int) -> None:
        if target == len(self.sets):
            self.sets.append(frozenset())
        self.sets[source] -= {player}
        self.sets[target] |= {player}

    def close(self, gap: int, last: int) -> None:
        self.sets[gap] = self.sets[last]
        self.sets.pop()


@dataclass(frozen=True, eq=False)
class Additive(Game):
    """A coalition is worth the sum, or the mean, of what its members are worth to a player (itself included)."""

    liking: Float[np.ndarray, "players players"]
    """Row i: what each player is worth to i. −∞ is never; +∞ is not allowed."""
    average: bool = False
    alone: float | None = None
    """What being alone is worth; None: what a player is worth to itself."""
    players: int = field(init=False)

    def __post_init__(self) -> None:
        liking = np.asarray(self.liking, np.float64)
        if liking.ndim != 2 or liking.shape[0] != liking.shape[1]:
            raise ValueError(f"liking: must be players × players, not {liking.shape}")
        if np.isnan(liking).any() or np.isposinf(liking).any():
            raise ValueError("liking: must be finite numbers or −∞")
        object.__setattr__(self, "liking", liking)
        object.__setattr__(self, "players", len(liking))

    def seat(self, labels: ArrayLike, admission: Admission) -> Seating:
        return _Added(self, labels, admission)

    def worths(self, sets: Bool[np.ndarray, "sets players"]) -> Float[np.ndarray, "sets players"]:
        never = np.isneginf(self.liking)
        sums = sets.astype(np.float64) @ np.where(never, 0.0, self.liking).T
        sums[(sets.astype(np.float64) @ never.T.astype(np.float64)) > 0] = -np.inf
        return np.where(sets, self.value(sums, sets.sum(axis=1, keepdims=True), np.diag(self.liking)), -np.inf)

    def value(self, sums: NDArray[np.float64], sizes: NDArray[np.intp], own: ArrayLike) -> NDArray[np.float64]:
        """What a sum over so many members is worth."""
        worth = sums / sizes if self.average else sums
        return np.where(sizes == 1, own if self.alone is None else self.alone, worth)


class _Added(Seating):
    def __init__(self, game: Additive, labels: ArrayLike, admission: Admission) -> None:
        super().__init__(labels, game.players, admission)
        self.game = game

    def offers(self, player: int) -> Float[np.ndarray, " coalitions"]:
        row = self.game.liking[player]
        sums = np.bincount(self.labels, weights=row, minlength=len(self.counts)).astype(np.float64)
        outside = np.arange(len(self.counts)) != self.labels[player]
        return self.game.value(
            sums + outside * row[player] if np.isfinite(row[player]) else sums, self.counts + outside, row[player]
        )

    def solo(self, player: int) -> float:
        return float(self.game.liking[player, player] if self.game.alone is None else self.game.alone)

    def agree(self, player: int, target: int) -> bool:
        inside = self.members(target)
        sums = self.game.liking[np.ix_(inside, inside)].sum(axis=1)
        own, size = np.diag(self.game.liking)[inside], np.array(len(inside))
        now, then = self.game.value(sums, size, own), self.game.value(sums + self.game.liking[inside, player], size + 1, own)
        return not prefers(now, then).any()

    def carry(self, player: int, source: int, target: int) -> None:
        """Nothing to keep: sums are taken anew at each look."""

    def close(self, gap: int, last: int) -> None:
        """Nothing to keep."""


Value = Callable[[Float[np.ndarray, "*own facts"], Float[np.ndarray, "*sums facts"]], Float[np.ndarray, "..."]]
"""What a coalition is worth: own facts and the coalition's sums of facts (broadcast on all axes but the last) to worth."""


@dataclass(frozen=True, eq=False)
class Summed(Game):
    """A coalition's worth to a member follows from the member's own facts and their sums over the coalition.

    Sizes, costs and means are all of this kind. A look at all k coalitions is one call on k rows.

    >>> crowd = Summed(np.ones((4, 1)), lambda own, sums: 3 - abs(sums[..., 0] - 3))  # threes are best
    >>> crowd.worths(np.array([[True, True, True, False]])).tolist()
    [[3.0, 3.0, 3.0, -inf]]
    """

    facts: Float[np.ndarray, "players facts"]
    value: Value
    players: int = field(init=False)

    def __post_init__(self) -> None:
        facts = np.asarray(self.facts, np.float64)
        if facts.ndim != 2 or not np.isfinite(facts).all():
            raise ValueError(f"facts: must be finite numbers, players × facts, not an array of {facts.ndim} axes or with gaps")
        object.__setattr__(self, "facts", facts)
        object.__setattr__(self, "players", len(facts))

    def seat(self, labels: ArrayLike, admission: Admission) -> Seating:
        return _Summed(self, labels, admission)

    def worths(self, sets: Bool[np.ndarray, "sets players"]) -> Float[np.ndarray, "sets players"]:
        sums = sets.astype(np.float64) @ self.facts
        return np.where(sets, self.value(self.facts[np.newaxis], sums[:, np.newaxis]), -np.inf)


class _Summed(Seating):
    def __init__(self, game: Summed, labels: ArrayLike, admission: Admission) -> None:
        super().__init__(labels, game.players, admission)
        self.facts, self.value = game.facts, game.value
        self.sums = np.zeros((len(self.counts), game.facts.shape[1]))
        np.add.at(self.sums, self.labels, self.facts)

    def offers(self, player: int) -> Float[np.ndarray, " coalitions"]:
        own = self.facts[player]
        sums = self.sums + own
        sums[self.labels[player]] -= own
        return np.array(self.value(own, sums), np.float64)

    def solo(self, player: int) -> float:
        return float(self.value(self.facts[player], self.facts[player]))

    def agree(self, player: int, target: int) -> bool:
        inside, sums = self.facts[self.members(target)], self.sums[target]
        return not prefers(self.value(inside, sums), self.value(inside, sums + self.facts[player])).any()

    def carry(self, player: int, source: int, target: int) -> None:
        if target == len(self.sums):
            self.sums = np.vstack([self.sums, np.zeros(self.facts.shape[1])])
        self.sums[source] -= self.facts[player]
        self.sums[target] += self.facts[player]

    def close(self, gap: int, last: int) -> None:
        self.sums[gap] = self.sums[last]
        self.sums = self.sums[:-1]
