"""Critical bids of a large market all at once: while a class is short, every holder of it is taken.

So what is held of a class before a place is the running sum over the class's holders, and the walk without a winner
is known without being walked: each of its classes is filled by the holder at which the running sum reaches the quota
plus what the winner holds. Those who come in instead of it, the newcomers, hold nothing else that is short.

A planning budget changes two things. A client who was refused for its price may fit when a winner's bid is not spent;
then what is left after it is less than the winner's bid, and no place further down can be better. And a newcomer's
price may leave too little for a later client; only from there on the walk is made step by step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.market.ranking import Money, Positions, first_place
from coterie.market.rewalk import best_of, walk_without
from coterie.market.task import Amount
from coterie.market.walk import Need, Walk

Entries = NDArray[np.intp]
"""Rows of the table of (class, place) pairs."""


@dataclass(frozen=True, eq=False)
class Sums:
    """One row for each class and holder of it, by class and then by rank, with the samples added up over all rows."""

    place: Positions
    kind: NDArray[np.intp]
    """The class."""
    samples: NDArray[np.int64]
    """0 for those whom the walk refused: it went on as if they were not there."""
    total: NDArray[np.int64]
    """Samples of this and all earlier rows."""
    start: NDArray[np.intp]
    """For each class its first row, and the number of rows."""

    @classmethod
    def of(cls, walk: Walk) -> Sums:
        by_class = walk.ranking.held.tocsc()
        place = by_class.indices.astype(np.intp)
        samples = np.where(walk.refused[place], 0, by_class.data)
        start = by_class.indptr.astype(np.intp)
        kind = np.repeat(np.arange(len(start) - 1), np.diff(start))
        return cls(place, kind, samples, np.cumsum(samples), start)

    @property
    def base(self) -> NDArray[np.int64]:
        """For each class the samples of all rows before its first."""
        return np.concatenate([np.zeros(1, np.int64), self.total])[self.start[:-1]]

    def filled(self, kind: NDArray[np.intp], level: NDArray[np.int64]) -> Entries:
        """Returns the first row with which a class reaches a level, or a row behind the class's last."""
        return np.searchsorted(self.total, self.base[kind] + level)

    def before(self, place: int, places: int) -> NDArray[np.int64]:
        """Returns what is held of each class before a place."""
        classes = np.arange(len(self.start) - 1)
        row = np.searchsorted(self.kind * places + self.place, classes * places + place)
        return np.concatenate([np.zeros(1, np.int64), self.total])[row] - self.base


def by_running_sums(walk: Walk) -> Money:
    """Returns the winners' critical bids."""
    sums, ranking = Sums.of(walk), walk.ranking
    quotas = ranking.task.quotas[sums.kind]
    held_before = sums.total - sums.samples - sums.base[sums.kind]
    rows = np.flatnonzero(walk.taken[sums.place] & (held_before < quotas))
    filled = sums.filled(sums.kind[rows], quotas[rows] + sums.samples[rows])
    until = np.zeros(len(ranking), np.intp)
    np.maximum.at(until, sums.place[rows], place_of(sums, filled, sums.kind[rows], len(ranking)))
    if ranking.task.budget is None:
        winners = walk.winners
        return best_of(ranking, winners, until[winners], np.zeros_like(ranking.prices[winners]))
    return _within_budget(walk, sums, Stretches.of(walk, sums, rows, filled, until))


@dataclass(frozen=True, eq=False)
class Stretches:
    """Places further down where a winner would still be needed, cut where a newcomer is taken in its stead.

    One row for each winner and newcomer, and one for the last place before which the winner is needed.
    """

    walk: Walk
    who: Positions
    begin: Positions
    end: Positions
    """The last place of the stretch; the newcomer stands there."""
    cost: Money
    """What the newcomers of earlier stretches ask together."""
    first: NDArray[np.intp]
    """For each winner the row of its first stretch, and the number of rows."""

    @classmethod
    def of(cls, walk: Walk, sums: Sums, rows: Entries, filled: Entries, until: Positions) -> Stretches:
        places = len(walk.ranking) + 1
        holder, newcomer = _newcomers(walk, sums, rows, filled)
        winners = walk.winners
        keys = np.unique(np.concatenate([holder * places + newcomer, winners * places + until[winners]]))
        who, end = keys // places, keys % places
        first = np.searchsorted(who, np.append(winners, places))
        prices = np.append(walk.ranking.prices, 0)[end]
        paid = np.cumsum(prices) - prices
        cost = paid - np.repeat(paid[first[:-1]], np.diff(first))
        begin = np.where(np.isin(np.arange(len(who)), first), who, np.roll(end, 1)) + 1
        return cls(walk, who, begin, end, cost, first)

    def room(self, row: NDArray[np.intp], place: Positions) -> Money:
        """What the budget leaves before a place when the stretch's winner is absent; negative where it never suffices."""
        walk = self.walk
        return walk.room[place] + walk.ranking.prices[self.who[row]] - self.cost[row]

    def allows(self, row: NDArray[np.intp], place: Positions) -> NDArray[np.bool_]:
        """Whether the score allows all that the budget leaves."""
        ranking = self.walk.ranking
        return ranking.stands(ranking.ids[self.who[row]], self.room(row, place), place)


def _newcomers(walk: Walk, sums: Sums, rows: Entries, filled: Entries) -> tuple[Positions, Positions]:
    """Pairs each winner with those who, were it absent, would be needed for a class it holds and are not taken now."""
    kind = sums.kind[rows]
    idle = sums.filled(kind, walk.ranking.task.quotas[kind]) + 1
    stop = np.minimum(filled + 1, sums.start[kind + 1])
    count = np.maximum(stop - idle, 0)
    offset = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    place = sums.place[np.repeat(idle, count) + offset]
    new = ~walk.taken[place] & ~walk.refused[place]
    return np.repeat(sums.place[rows], count)[new], place[new]


def _within_budget(walk: Walk, sums: Sums, stretches: Stretches) -> Money:
    """Finds for each winner the place where what the score allows meets what the budget leaves."""
    winners, ranking = walk.winners, walk.ranking
    row, place = _meetings(stretches)
    room = _left(stretches, row, place)
    let_in = _first_let_in(walk, stretches)
    opened = let_in < place
    last = np.where(opened, let_in, place - 1)
    room = np.where(opened, 0, room)
    for i in np.flatnonzero(room < 0).tolist():
        last[i], room[i] = _step_by_step(walk, sums, stretches, int(row[i]), int(last[i]))
    return best_of(ranking, winners, last, np.minimum(room, ranking.task.reserve_price))


def _left(stretches: Stretches, row: NDArray[np.intp], place: Positions) -> Money:
    """Returns what the budget leaves where it meets the score; below 0 where a client before it cannot be paid.

    Where a winner is not needed any more before they meet, that is 0, provided that the last one, who makes it
    superfluous, can be paid.
    """
    end, prices = stretches.end[row], np.append(stretches.walk.ranking.prices, 0)
    beyond = np.minimum(stretches.room(row, end) - prices[end], 0)
    return np.where(place <= end, stretches.room(row, np.minimum(place, end)), beyond)


def _meetings(stretches: Stretches) -> tuple[NDArray[np.intp], Positions]:
    """Returns for each winner the stretch and first place where the score allows what is left, or one behind its last."""
    rows = np.arange(len(stretches.who))
    short = ~stretches.allows(rows, stretches.end)
    first = stretches.first
    row = np.minimum(first[:-1] + np.add.reduceat(short, first[:-1], dtype=np.intp), first[1:] - 1)
    behind = stretches.end[row] + short[row]
    return row, first_place(stretches.begin[row], behind, lambda place: stretches.allows(row, place))


def _first_let_in(walk: Walk, stretches: Stretches) -> Positions:
    """Returns for each winner the first client refused now who would fit were the winner's bid not spent."""
    places = len(walk.ranking) + 2
    refused = np.flatnonzero(walk.refused)
    lacking = walk.ranking.prices[refused] - walk.room[refused]
    spare = walk.ranking.prices[stretches.who] - stretches.cost
    found = first_at_most(lacking, np.searchsorted(refused, stretches.begin), spare)
    place = np.append(refused, places)[found]
    place = np.where(place < stretches.end, place, places)
    return np.minimum.reduceat(place, stretches.first[:-1])


def first_at_most(values: Money, start: NDArray[np.intp], limit: Money) -> NDArray[np.intp]:
    """Returns for each query the first index from a start with a value up to a limit, or the number of values.

    >>> first_at_most(np.array([5, 2, 9, 1]), np.array([0, 2, 0]), np.array([4, 3, 0])).tolist()
    [1, 3, 4]
    """
    lowest = [values]
    while len(lowest[-1]) > 2 ** (len(lowest) - 1):
        half = 2 ** (len(lowest) - 1)
        lowest.append(np.minimum(lowest[-1][:-half], lowest[-1][half:]))
    at = start.copy()
    for level in reversed(range(len(lowest))):
        block = lowest[level]
        inside = at < len(block)
        skip = inside & (np.append(block, 0)[np.where(inside, at, len(block))] > limit)
        at = at + skip * 2**level
    return at


def _step_by_step(walk: Walk, sums: Sums, stretches: Stretches, row: int, place: int) -> tuple[int, Amount]:
    """Goes on by walking from a place whose client the budget, less what newcomers cost, cannot pay any more."""
    ranking, who = walk.ranking, int(stretches.who[row])
    row -= place < stretches.begin[row]
    missing = ranking.task.quotas - sums.before(place, len(ranking) + 1)
    held = slice(ranking.rows[who], ranking.rows[who + 1])
    missing[ranking.held.indices[held]] += ranking.held.data[held]
    need = Need(ranking, stretches.room(np.array([row]), np.array([place])).item(), missing.tolist())
    return walk_without(ranking, who, place, need)


def place_of(sums: Sums, row: Entries, kind: NDArray[np.intp], places: int) -> Positions:
    """Returns where the holder of a row stands, or behind everybody where the class has no such row."""
    behind = row >= sums.start[kind + 1]
    return np.append(sums.place, places)[np.where(behind, len(sums.place), row)]
