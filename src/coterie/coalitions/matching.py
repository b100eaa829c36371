"""Followers find leaders, with quotas, so that no two would rather have each other.

Deferred acceptance (Gale and Shapley, 1962).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappush, heapreplace

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ids = NDArray[np.intp]
NOBODY = -1


@dataclass(frozen=True, eq=False)
class Market:
    """Pairs that may come about, and how each side likes them: one entry a pair, more is better.

    A pair that is not listed does not come about. Ties go to the partner with the smaller number.
    """

    follower: Ids
    leader: Ids
    liked_by_follower: NDArray[np.float64]
    liked_by_leader: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name, dtype in [("follower", np.intp), ("leader", np.intp)]:
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype))
        for name in ("liked_by_follower", "liked_by_leader"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), np.float64))
        columns = (self.follower, self.leader, self.liked_by_follower, self.liked_by_leader)
        if any(column.shape != (len(self.follower),) for column in columns):
            raise ValueError("matching: the four columns must have one entry for each pair")
        if np.isnan(self.liked_by_follower).any() or np.isnan(self.liked_by_leader).any():
            raise ValueError("matching: likings must be numbers; leave out pairs that may not come about")
        if len(self.follower) and min(self.follower.min(), self.leader.min()) < 0:
            raise ValueError("matching: followers and leaders are numbered from 0")
        if len(np.unique(np.stack([self.follower, self.leader]), axis=1).T) < len(self.follower):
            raise ValueError("matching: a pair is listed twice")


def deferred_acceptance(market: Market, followers: int, quotas: ArrayLike) -> Ids:
    """For each follower its leader, or −1: the stable matching that is best for every follower.

    Followers propose, best-liked leader first; a leader keeps the best-liked of those who proposed, up to its quota.

    >>> market = Market([0, 0, 1, 1, 2], [0, 1, 0, 1, 0], [2, 1, 2, 1, 1], [1, 1, 2, 2, 3])
    >>> deferred_acceptance(market, followers=3, quotas=[1, 1]).tolist()
    [-1, 1, 0]
    """
    room = _quotas(market, quotas)
    proposals = _proposals(market, followers)
    kept: list[list[tuple[float, int, int]]] = [[] for _ in room]
    matched = np.full(followers, NOBODY, np.intp)
    waiting = list(range(followers - 1, -1, -1))
    while waiting:
        pair = next(proposals[waiting[-1]], None)
        follower = waiting.pop()
        if pair is None:
            continue
        leader = int(market.leader[pair])
        offer = (float(market.liked_by_leader[pair]), -follower, follower)
        if len(kept[leader]) < room[leader]:
            heappush(kept[leader], offer)
        elif room[leader] and offer > kept[leader][0]:
            refused = heapreplace(kept[leader], offer)[2]
            matched[refused] = NOBODY
            waiting.append(refused)
        else:
            waiting.append(follower)
            continue
        matched[follower] = leader
    return matched


def blocking_pairs(market: Market, matched: ArrayLike, quotas: ArrayLike) -> Ids:
    """The pairs (their entries in the market) who would rather have each other than what they got; none if it is stable.

    >>> market = Market([0, 1], [0, 0], [1, 1], [1, 2])
    >>> blocking_pairs(market, [0, -1], quotas=[1]).tolist()
    [1]
    """
    room, found = _quotas(market, quotas), np.asarray(matched, np.intp)
    together = found[market.follower] == market.leader
    has = np.full(len(found), -np.inf)
    has[market.follower[together]] = market.liked_by_follower[together]
    worst = np.full(len(room), np.inf)
    np.minimum.at(worst, market.leader[together], market.liked_by_leader[together])
    full = np.bincount(found[found >= 0], minlength=len(room)) >= room
    alone = found[market.follower] == NOBODY
    follower_would = alone | (market.liked_by_follower > has[market.follower])
    leader_would = ~full[market.leader] | ((market.liked_by_leader > worst[market.leader]) & (room[market.leader] > 0))
    return np.flatnonzero(~together & follower_would & leader_would)


def _proposals(market: Market, followers: int) -> list[Iterator[int]]:
    """For each follower its pairs, best-liked first."""
    if len(market.follower) and market.follower.max() >= followers:
        raise ValueError(f"matching: there is a follower {market.follower.max()}, but only {followers} followers")
    order = np.lexsort((market.leader, -market.liked_by_follower, market.follower))
    ends = np.cumsum(np.bincount(market.follower, minlength=followers))
    return [iter(pairs.tolist()) for pairs in np.split(order, ends[:-1])] if followers else []


def _quotas(market: Market, quotas: ArrayLike) -> NDArray[np.intp]:
    room = np.asarray(quotas, np.intp)
    if room.ndim != 1 or (room < 0).any():
        raise ValueError("quotas: must be one whole number from 0 for each leader")
    if len(market.leader) and market.leader.max() >= len(room):
        raise ValueError(f"quotas: there is a leader {market.leader.max()}, but only {len(room)} quotas")
    return room
