"""The model-sharing game under uniform sharing, fast: ten thousand players move in seconds."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.coalitions.games import Game, Summed
from coterie.coalitions.seating import ALONE, Admission, Seating, prefers

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class UniformSharing(Game):
    """Uniform sharing in mean estimation: a member of size n loses T/N + 1 + Q/N² − 2n/N, in units of σ².

    The same game as `sharing_game(..., "uniform")`, but fast: a joiner of size a looks at all lone players at once. What a
    partner of size x would make its error falls and then rises in x, with its least at x = Ta/(4a − T) (falls throughout where
    4a ≤ T), so among the lone players, kept sorted, only the two around that size can be best. A lone player agrees up to
    x = Ta/(2a − T), which is larger. Of a larger coalition's members the one with the most samples is the first to object.
    """

    sizes: Floats
    threshold: float

    players: int = field(init=False)

    def __post_init__(self) -> None:
        sizes = np.asarray(self.sizes, np.float64)
        if sizes.ndim != 1 or not (sizes > 0).all() or not np.isfinite(sizes).all():
            raise ValueError("sizes: must be one number above 0 for each player")
        if not 0 < self.threshold < np.inf:
            raise ValueError(f"threshold: must be a number above 0, not {self.threshold!r}")
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "players", len(sizes))

    def worth(self, own: Any, total: Any, squares: Any) -> Any:
        """Less the error of a member of size `own` in a coalition of these sums."""
        return -(self.threshold / total + ((total - own) ** 2 + squares - own**2) / total**2)

    def worths(self, sets: NDArray[np.bool_]) -> Floats:
        return self.plain.worths(sets)

    @property
    def plain(self) -> Summed:
        """The same game without the sorting."""
        facts = np.column_stack([self.sizes, self.sizes**2])
        return Summed(facts, lambda own, sums: self.worth(own[..., 0], sums[..., 0], sums[..., 1]))

    def seat(self, labels: ArrayLike, admission: Admission) -> Seating:
        if admission.barred is not None:
            return self.plain.seat(labels, admission)
        return _Sorted(self, labels, admission)


class _Sorted(Seating):
    """Coalitions as sums and their largest member; lone players also as a sorted list of (size, player)."""

    def __init__(self, game: UniformSharing, labels: ArrayLike, admission: Admission) -> None:
        super().__init__(labels, game.players, admission)
        self.game, self.sizes = game, game.sizes
        self.total = np.bincount(self.labels, weights=self.sizes)
        self.squares = np.bincount(self.labels, weights=self.sizes**2)
        self.largest = np.zeros(len(self.counts))
        np.maximum.at(self.largest, self.labels, self.sizes)
        self.groups = np.flatnonzero(self.counts > 1)
        lone = np.flatnonzero(self.counts[self.labels] == 1).tolist()
        self.lone: list[tuple[float, int]] = sorted((float(self.sizes[player]), player) for player in lone)

    def solo(self, player: int) -> float:
        return -self.game.threshold / float(self.sizes[player])

    def offers(self, player: int) -> Floats:
        size = np.where(np.arange(len(self.counts)) == self.labels[player], 0.0, self.sizes[player])
        return np.asarray(self.game.worth(self.sizes[player], self.total + size, self.squares + size**2))

    def best(self, player: int) -> tuple[int, float, float]:
        own, size, solo = int(self.labels[player]), float(self.sizes[player]), self.solo(player)
        here = solo if self.counts[own] == 1 else float(self.game.worth(size, self.total[own], self.squares[own]))
        target, there = self._best_group(player, max(here, solo))
        for other, partner in self._partners(player):
            worth = float(self.game.worth(size, size + other, size**2 + other**2))
            if prefers(worth, there) and self._open(player, int(self.labels[partner])):
                target, there = int(self.labels[partner]), worth
        if target is not None:
            return target, there, here
        return (ALONE, solo, here) if prefers(solo, here) else (own, here, here)

    def _best_group(self, player: int, over: float) -> tuple[int | None, float]:
        """The best coalition of two or more that beats `over` and lets the player in."""
        size, groups = self.sizes[player], self.groups
        worth = self.game.worth(size, self.total[groups] + size, self.squares[groups] + size**2)
        if not (worth > over).any():
            return None, over
        better = np.flatnonzero(prefers(worth, over) & (groups != self.labels[player]))
        for row in better[np.argsort(-worth[better], kind="stable")].tolist():
            if self._open(player, int(groups[row])):
                return int(groups[row]), float(worth[row])
        return None, over

    def _partners(self, player: int) -> list[tuple[float, int]]:
        """The lone players next to the best size, from below and from above, the player itself left out."""
        size, threshold = float(self.sizes[player]), self.game.threshold
        ideal = threshold * size / (4 * size - threshold) if 4 * size > threshold else np.inf
        place = bisect_left(self.lone, (ideal, -1))
        below = [other for other in self.lone[max(place - 2, 0) : place] if other[1] != player]
        above = [other for other in self.lone[place : place + 2] if other[1] != player]
        return below[-1:] + above[:1]

    def _open(self, player: int, target: int) -> bool:
        """Whether a coalition has room for the player and, where that is asked for, its members agree."""
        limit = self.admission.max_size
        if limit is not None and self.counts[target] >= limit:
            return False
        return self.admission.consent == "free" or self.agree(player, target)

    def agree(self, player: int, target: int) -> bool:
        size, first = float(self.sizes[player]), float(self.largest[target])
        total, squares = float(self.total[target]), float(self.squares[target])
        now, then = self.game.worth(first, total, squares), self.game.worth(first, total + size, squares + size**2)
        return not prefers(now, then)

    def move(self, player: int, target: int) -> None:
        source = int(self.labels[player])
        left = self.members(source) if self.counts[source] == 2 else np.empty(0, np.intp)
        joined = self.members(target) if target != ALONE and self.counts[target] == 1 else np.empty(0, np.intp)
        for other in [*([player] if self.counts[source] == 1 else []), *joined.tolist()]:
            del self.lone[bisect_left(self.lone, (float(self.sizes[other]), other))]
        super().move(player, target)
        for other in [*left[left != player].tolist(), *([player] if target == ALONE else [])]:
            insort(self.lone, (float(self.sizes[other]), other))
        self.groups = np.flatnonzero(self.counts > 1)

    def carry(self, player: int, source: int, target: int) -> None:
        if target == len(self.total):
            self.total, self.squares, self.largest = (np.append(sums, 0.0) for sums in (self.total, self.squares, self.largest))
        size, left = self.sizes[player], self.members(source)
        self.total[[source, target]] += [-size, size]
        self.squares[[source, target]] += [-(size**2), size**2]
        self.largest[source] = self.sizes[left[left != player]].max(initial=0.0)
        self.largest[target] = max(self.largest[target], size)

    def close(self, gap: int, last: int) -> None:
        for sums in (self.total, self.squares, self.largest):
            sums[gap] = sums[last]
        self.total, self.squares, self.largest = self.total[:-1], self.squares[:-1], self.largest[:-1]
