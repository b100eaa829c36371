"""Listening to proven friends only, and only as much as hold-out samples bear out (ours)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from scipy import sparse

from coterie.federation import View
from coterie.neighbors.beliefs import cosines_within
from coterie.neighbors.edges import Edges
from coterie.neighbors.gossip import with_oneself
from coterie.neighbors.topologies import Topology, check, graph
from coterie.plan import Hears, Plan
from coterie.replies import Replies
from coterie.roster import Roster
from coterie.rules import Listener


@dataclass(frozen=True, eq=False)
class Known:
    """What clients know of their neighbors, and of what listening does for them; NaN where they do not know."""

    likeness: Float[np.ndarray, " edges"]
    """The cosine of both ends' gradients when they first met."""
    excess: Float[np.ndarray, " edges"]
    """How much higher the neighbor's loss on one's own data is than what one's own model has on unseen data."""
    change: Float[np.ndarray, "clients shares"]
    """What mixing friends in with each share did to the hold-out loss."""


@dataclass(frozen=True)
class Wary(Listener):
    """Listens to neighbors who do on its data what its own model does on unseen data, and no more than its hold-out bears out.

    Ours. It starts from what comparing the others showed: most harm comes from weight on strangers, friends show in the
    first gradients, and often nobody is worth listening to.

    1. Two clients that meet for the first time compare the gradients of their loss in the last layer before the
       classifier, as AFIND does. In the first round all models are one, which is when this tells most.
    2. A client hears up to `peers` others: friends, and untried neighbors, the likest first, on a share `explore` of
       the places, or on all that its friends leave.
    3. ε_ij = the loss of j's model on i's training samples, which j has not seen, − the loss of i's own on its hold-out
       samples; kept as a running mean. Who has ε_ij ≤ `slack` is a friend.
    4. With w̄ the mean of the friends heard, i tries (1 − a) w_i + a w̄ on its hold-out samples for each a of `shares`, and
       keeps the running mean of how the loss changed. Friends tell each other these changes, and average them.
    5. The share with the lowest mean is taken, if it lowers the loss by more than `margin`; else i stays alone this round.

    Hold-out samples decide, so there must be some: without them a client compares with its training loss, finds no
    friends, and learns alone.
    """

    peers: int = 10
    """The most that a client hears."""
    slack: float = 0.3
    """How much worse than on unseen data a friend's model may be, in nats."""
    shares: tuple[float, ...] = (0.25, 0.5, 0.75, 0.9)
    """How much friends may count together."""
    margin: float = 0.0
    """How much listening must lower the hold-out loss."""
    memory: float = 0.3
    """How much the newest round counts in the running means."""
    explore: float = 0.2
    """The share of the places that is for untried neighbors."""
    batch: int | None = 64
    """Samples on which a gradient is taken; None for all."""
    topology: Topology = "full"
    """Who could hear whom: see `coterie.neighbors.topologies`."""

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("peers", "a whole number from 1", self.peers >= 1),
            ("slack", "a finite number", np.isfinite(self.slack)),
            ("shares", "numbers above 0 and up to 1, one at least", self.shares and all(0 < a <= 1 for a in self.shares)),
            ("margin", "a number from 0", 0 <= self.margin < np.inf),
            ("memory", "in (0, 1]", 0 < self.memory <= 1),
            ("explore", "in [0, 1]", 0 <= self.explore <= 1),
            ("batch", "a whole number from 1, or none for all samples", self.batch is None or self.batch >= 1),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")
        check(self.topology)

    def listen(self, view: View, state: Known | None) -> Hears:
        edges, known = self._opened(view, state)
        near = edges.among(view.present)
        few, dice = edges.only(near), view.rng.random(int(near.sum()))
        friends, likeness = known.excess[near] <= self.slack, np.nan_to_num(known.likeness[near], nan=0.0)
        chosen = self.invited(few, friends, np.isnan(known.excess[near]), likeness, dice)
        view.note(view.present, friends=few.sums(friends)[view.present], heard=few.sums(chosen)[view.present])
        return with_oneself(few.only(chosen), view.present)

    def invited(
        self,
        edges: Edges,
        friends: Bool[np.ndarray, " edges"],
        untried: Bool[np.ndarray, " edges"],
        likeness: Float[np.ndarray, " edges"],
        dice: Float[np.ndarray, " edges"],
    ) -> Bool[np.ndarray, " edges"]:
        """Who is heard: the likest untried on their places, then friends drawn at random, then more of the untried.

        Who has `peers` friends tries only neighbors at least as like as the one that is least like among them.
        """
        count = edges.sums(friends)
        least = np.full(edges.clients, np.inf)
        np.minimum.at(least, edges.rows[friends], likeness[friends])
        open_to = untried & ((count < self.peers)[edges.rows] | (likeness >= least[edges.rows]))
        first = np.zeros(len(edges), dtype=bool)
        first[open_to] = edges.only(open_to).first(round(self.explore * self.peers), -likeness[open_to], dice[open_to])
        rank = np.where(first, 0.0, np.where(friends, 1.0, 2.0))
        possible = friends | open_to
        order = np.where(friends, 0.0, -likeness)[possible]
        chosen = np.zeros(len(edges), dtype=bool)
        chosen[possible] = edges.only(possible).first(self.peers, rank[possible], order, dice[possible])
        return chosen

    def heed(self, view: View, plan: Plan, replies: Replies, state: Known | None) -> tuple[sparse.csr_array, Known]:
        edges, known = self._opened(view, state)
        heard = Edges.of(plan.support(replies.clients))
        own = replies.clients[heard.cols] == heard.rows
        mine, others = heard.only(own), heard.only(~own)
        alone = np.full(edges.clients, np.nan)
        if len(mine):
            alone[mine.rows] = view.ask.losses(mine.rows, mine.cols, among=replies)
        theirs = view.ask.losses(others.rows, others.cols, among=replies, split="train") if len(others) else np.empty(0)
        place = edges.find(others.rows, replies.clients[others.cols])
        excess = known.excess.copy()
        excess[place] = running(excess[place], theirs - alone[others.rows], self.memory)
        friends = others.only(np.isfinite(theirs - alone[others.rows]) & (excess[place] <= self.slack))
        change = self._tried(view, replies, mine, friends, known.change)
        told = np.isfinite(change).any(axis=1)[replies.clients[friends.cols]]
        view.ask.passes("change", int(told.sum()), len(self.shares))
        share = self.share(pooled(friends, replies, change)) * (friends.sums(np.ones(len(friends))) > 0)
        return mixed(mine, friends, share, len(replies)), replace(known, excess=excess, change=change)

    def share(self, change: Float[np.ndarray, "clients shares"]) -> Float[np.ndarray, " clients"]:
        """How much friends count: the share that lowered the loss most, 0 where none lowered it enough."""
        lowest = np.where(np.isnan(change), np.inf, change)
        best = lowest.argmin(axis=1)
        return np.where(lowest[np.arange(len(change)), best] < -self.margin, np.array(self.shares)[best], 0.0)

    def _tried(
        self, view: View, replies: Replies, mine: Edges, friends: Edges, before: Float[np.ndarray, "clients shares"]
    ) -> Float[np.ndarray, "clients shares"]:
        """What mixing friends in did to the hold-out loss so far; clients try at home."""
        able = np.intersect1d(mine.rows, friends.rows)
        if not len(able):
            return before
        levels = (0.0, *self.shares)
        mixes = [mixed(mine, friends, np.full(mine.clients, a), len(replies))[able] @ replies.models for a in levels]
        who = np.tile(able, len(levels))
        tried = Replies(who, np.concatenate(mixes).astype(np.float32), np.ones(len(who), np.int64))
        losses = view.ask.losses(who, np.arange(len(who)), among=tried).reshape(len(levels), len(able))
        change = before.copy()
        change[able] = running(change[able], (losses[1:] - losses[0]).T, self.memory)
        return change

    def learn(self, view: View, plan: Plan, replies: Replies, state: Known | None) -> Known:
        """Pairs that meet for the first time compare their gradients."""
        edges, known = self._opened(view, state)
        new = np.flatnonzero(edges.among(view.present) & np.isnan(known.likeness))
        if not len(new):
            return known
        clients = np.union1d(edges.rows[new], edges.cols[new])
        told = view.ask.gradients(clients, view.follows[clients], part=view.layout.featurizer, batch=self.batch)
        likeness = known.likeness.copy()
        ours, theirs = (np.searchsorted(clients, ends[new]) for ends in (edges.rows, edges.cols))
        likeness[new] = cosines_within(told, ours, theirs)
        return replace(known, likeness=likeness)

    def begin(self, roster: Roster) -> Known | None:
        return None

    def _opened(self, view: View, state: Known | None) -> tuple[Edges, Known]:
        edges = graph(self.topology, len(view.roster), view.seed)
        if state is not None:
            return edges, state
        unknown = np.full(len(edges), np.nan)
        return edges, Known(unknown, unknown, np.full((edges.clients, len(self.shares)), np.nan))


def running(before: NDArray[np.float64], new: NDArray[np.float64], memory: float) -> NDArray[np.float64]:
    """The running mean after something new; where there was nothing it is the new, where there is nothing new it stays.

    >>> running(np.array([1.0, np.nan, 1.0]), np.array([2.0, 2.0, np.nan]), 0.25).tolist()
    [1.25, 2.0, 1.0]
    """
    moved = np.where(np.isnan(before), new, (1 - memory) * before + memory * new)
    return np.asarray(np.where(np.isnan(new), before, moved))


def pooled(
    friends: Edges, replies: Replies, change: Float[np.ndarray, "clients shares"]
) -> Float[np.ndarray, "clients shares"]:
    """The mean over oneself and the friends heard, of what is known."""
    cols = replies.clients[friends.cols]
    among = sparse.csr_array((np.ones(len(friends)), (friends.rows, cols)), shape=(friends.clients, friends.clients))
    among = sparse.csr_array(among + sparse.eye_array(friends.clients))
    there = np.isfinite(change)
    count = among @ there.astype(np.float64)
    return np.asarray(np.where(count > 0, among @ np.where(there, change, 0.0) / np.maximum(count, 1), np.nan))


def mixed(mine: Edges, friends: Edges, share: Float[np.ndarray, " clients"], replies: int) -> sparse.csr_array:
    """Clients × replies: 1 − share on oneself, share divided among friends; nothing for those without a reply of their own."""
    count = friends.sums(np.ones(len(friends)))
    there = np.zeros(mine.clients)
    there[mine.rows] = 1.0
    weights = np.concatenate(
        [np.where(count > 0, 1 - share, 1.0)[mine.rows], (share * there / np.maximum(count, 1))[friends.rows]]
    )
    cells = np.concatenate([mine.rows, friends.rows]), np.concatenate([mine.cols, friends.cols])
    made = sparse.csr_array((weights, cells), shape=(mine.clients, replies))
    made.eliminate_zeros()
    return made
