"""What winners are paid: the critical bid, the highest with which they would still have won (Eq. 5.13, 5.14)."""

from __future__ import annotations

import numpy as np

from coterie.market.bids import Bids
from coterie.market.ranking import Money, Positions, first_place, only_required
from coterie.market.rewalk import best_of, by_walking
from coterie.market.running_sums import Sums, place_of
from coterie.market.walk import Walk
from coterie.market.within_budget import Stretches, within_budget

FEW = 2**16
"""Winners × places up to which walking again for each winner is quick enough (some milliseconds).

It adds up money in the order of the auction itself, so that payments in floating-point money round as the auction does.
"""


def critical_payments(walk: Walk) -> Money:
    """Returns what each winner is paid, in the order of the ranking.

    Algorithm 9 is monotone: with a lower bid a client moves up the ranking, where no more is covered and no more is
    spent, so it still wins. (The source assumes this; it is true of its algorithm.) At each place of the walk that
    the others make without it, a winner would still be needed or not. Where it is, it wins with any bid that ranks it
    there and that the budget leaves; the payment is the highest of these. It is never above the reserve price, which
    alone limits a client without whom the quotas cannot be met, and never below the bid.
    """
    by = by_walking if walk.winners.size * len(walk.ranking) <= FEW else by_running_sums
    return by(walk)


def by_running_sums(walk: Walk) -> Money:
    """Returns the winners' critical bids from running sums, all at once: for markets of any size."""
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
    return within_budget(walk, sums, Stretches.of(walk, sums, rows, filled, until))


def critical_bids(walk: Walk, bids: Bids) -> Money:
    """Returns for each bidder the highest bid with which it would win, below 0 where none would.

    Without one who loses the walk is the same, so each loser's is read off it: at the places before which one of its
    classes is short it wins with what the score allows there and the budget leaves.
    """
    ranking, who = walk.ranking, np.arange(len(bids))
    reserve = ranking.prices.dtype.type(ranking.task.reserve_price)
    room = np.minimum(walk.room, reserve).astype(ranking.prices.dtype)
    until = _needed_until(walk, bids)
    place = first_place(np.zeros_like(until), until + 1, lambda at: ranking.stands(who, room[at], at))
    left = np.where(place <= until, room[place], -1)
    allowed = np.where(place > 0, ranking.reach(who, np.maximum(place - 1, 0)), -1)
    critical = np.maximum(np.maximum(left, allowed), -1)
    critical[ranking.ids[walk.winners]] = critical_payments(walk)
    return critical


def _needed_until(walk: Walk, bids: Bids) -> Positions:
    """Returns for each bidder the last place before which a class that it holds is short, -1 where none ever is."""
    sums, quotas, classes = Sums.of(walk), walk.ranking.task.quotas, np.arange(len(walk.ranking.task.quotas))
    filled = place_of(sums, sums.filled(classes, quotas), classes, len(walk.ranking))
    held = only_required(walk.ranking.task, bids.counts)
    until = np.full(len(bids), -1, np.intp)
    np.maximum.at(until, np.repeat(np.arange(len(bids)), np.diff(held.indptr)), filled[held.indices])
    return until
