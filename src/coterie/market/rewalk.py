"""Critical bids by their definition: walk again without a winner, and see how far down it would still be taken."""

from __future__ import annotations

import numpy as np

from coterie.market.ranking import Money, Positions, Ranking
from coterie.market.task import Amount
from coterie.market.walk import Need, Walk


def by_walking(walk: Walk) -> Money:
    """Returns the winners' critical bids, walking once for each of them."""
    need = Need.at_first(walk.ranking)
    winners = walk.winners
    last, room = np.zeros_like(winners), np.zeros(len(winners), walk.ranking.prices.dtype)
    for row, place in enumerate(winners.tolist()):
        last[row], room[row] = walk_without(walk.ranking, place, place + 1, need.copy())
        need.take(place)
    return best_of(walk.ranking, winners, last, room)


def walk_without(ranking: Ranking, who: int, start: int, need: Need) -> tuple[int, Amount]:
    """Goes down from a place as if a winner were absent, until it could not win from further down.

    Going down, the score allows the winner ever higher bids and the budget leaves ever less. So the best place is
    where the two meet. Returns the last place before which the budget leaves more than the score allows and the
    winner is needed; and what the budget leaves one place further down, if it is still needed there, else 0.
    """
    number, scores, last = int(ranking.ids[who]), ranking.score_list, start - 1
    merit = float(ranking.merits[number])
    wanted, even = True, -np.inf
    changed = True
    for place in range(start, len(ranking)):
        if changed:
            wanted, changed = need.wants(who), False
            even = merit - ranking.task.price_weight * need.room / ranking.unit
            if not wanted:
                return last, 0
        if even > scores[place] or (
            even == scores[place] and (need.room, number) < (ranking.price_list[place], ranking.ids[place])
        ):
            return last, need.room
        last = place
        if need.affords(place) and need.wants(place):
            need.take(place)
            changed = True
    return last, min(need.room, ranking.task.reserve_price) if need.wants(who) else 0


def best_of(ranking: Ranking, who: Positions, last: Positions, room: Money) -> Money:
    """Returns the higher of what the score allows at the last place and what the budget leaves below it."""
    allowed = np.maximum(ranking.reach(ranking.ids[who], last), room)
    return np.minimum(np.maximum(allowed, ranking.prices[who]), ranking.task.reserve_price)
