"""Critical bids under a planning budget, of all winners at once, from running sums.

Without a winner, newcomers are taken in its stead: holders of its classes, who hold nothing else that is short. They
cut the places further down into stretches; within each, what the budget leaves follows from the walk with everybody.
Two things can part the walks. A client who was refused for its price may fit when a winner's bid is not spent; then
what is left after it is less than the winner's bid, and no place further down can be better. And a newcomer's price
may leave too little for a later client; only from there on the walk is made step by step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.market.ranking import Money, Positions, first_place
from coterie.market.rewalk import best_of, walk_without
from coterie.market.running_sums import Entries, Sums
from coterie.market.task import Amount
from coterie.market.walk import Need, Walk


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


def within_budget(walk: Walk, sums: Sums, stretches: Stretches) -> Money:
    """Returns the winners' critical bids: where what the score allows meets what the budget leaves."""
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
