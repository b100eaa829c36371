"""StackFed's coalitions: resource-rich leaders take paying followers along (thesis, chapter 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from math import comb
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from coterie.coalitions import stackelberg
from coterie.coalitions.data_scores import Worth
from coterie.coalitions.leaders import Strong, StrongCluster, scaled_within
from coterie.coalitions.matching import Market, blocking_pairs, deferred_acceptance
from coterie.federation import View
from coterie.plan import Coalitions, Plan
from coterie.replies import Replies
from coterie.roster import Ids, Roster
from coterie.rules import Former

Floats = NDArray[np.float64]
Choice = Literal["weighted", "printed", "product", "joint", "exhaustive"]
MACHINE = ("cpu", "ram", "bandwidth")
MOST_GROUPS = 200_000
"""An exhaustive search over more groups than this is refused."""


@dataclass(frozen=True, eq=False)
class Formed:
    """Coalitions for a whole task."""

    labels: NDArray[np.intp]
    leaders: Ids
    strength: Floats
    """For each client the length of its scaled features; NaN for those who were not there."""
    certificate: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Matched:
    """Who is with whom in a population, by rows."""

    labels: NDArray[np.intp]
    """For each client its leader's place among the leaders; −1 for a follower whom nobody took."""
    leaders: Ids
    payment: Floats
    """For each follower that was taken what it pays; NaN for all others."""
    utility: Floats
    """For each follower that was taken what it has of it (4.11)."""
    strength: Floats
    certificate: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Shortlists:
    """For each leader the followers that it looks at, one entry a pair, and what the pair is to either side."""

    leader: NDArray[np.intp]
    """The leader's place among the leaders."""
    follower: NDArray[np.intp]
    """The follower's place among the followers."""
    leader_gain: Floats
    """Δ(DS_l,f), what the leader's score gains."""
    follower_gain: Floats
    """Δ(DS_f,l), what the follower's score gains (4.12)."""
    payment: Floats
    utility: Floats
    """The follower's (4.11)."""


@dataclass(frozen=True)
class LeaderFollower(Former):
    """Strong devices lead coalitions, into which weaker ones pay their way (StackFed; thesis, Algorithms 6 to 8).

    Formed in the first round and kept for the task:

    1. Leaders are found among those present by CPU, RAM, bandwidth and the three data scores (Alg. 6; see `StrongCluster`).
    2. Each leader lists the `shortlist` followers who add most to its data score (4.6 to 4.9).
    3. Followers on a list pay: the Nash equilibrium of their contest, or one best response as printed (Alg. 7).
    4. Leaders rank their lists by Algorithm 8, followers rank leaders by utility (4.11), and deferred acceptance matches them,
       so that no leader and follower would rather have each other than what they got.

    Leader and followers train; the leader gathers what they trained. Where a leader is away, the strongest member that is
    there leads. Who was away in the first round is in no coalition.

    Where the source is silent, and where we differ: `StrongCluster` says how leaders are found. The source takes a follower
    whom several leaders want for granted; the matching is ours. Printed payments are zero for everybody in practice, and
    printed weights add numbers of different units: both stay as named modes. Equation 4.20 is a sum, so its exact optimum
    is the top Q by gain times payment ("product"); "joint" greedily maximizes the data score of the whole coalition, which is
    what training is about. With more than `pool` followers, each leader looks at so many drawn at random.
    """

    quota: int = 4
    """Q, the most followers of a leader; 0 for leaders alone."""
    shortlist: int = 10
    """Followers that a leader looks at closely."""
    leaders: int | None = None
    """At most so many lead, the strongest; None for all that were found."""
    equilibrium: Literal["nash", "one-shot"] = "nash"
    """What followers pay."""
    cap: float | None = None
    """The largest payment, in units of the largest gain on a list; None for no limit."""
    choice: Choice = "weighted"
    """How a leader ranks its list: Algorithm 8 with both terms scaled to at most 1, or as printed; gain × payment; by the
    joint score of the coalition; or the best of all groups by (4.20)."""
    gain_weight: float = 1.0
    """α of Algorithm 8."""
    payment_weight: float = 1.0
    """β of Algorithm 8."""
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """W_DC, W_DV and W_DD of the data score (4.5)."""
    strong: StrongCluster = field(default_factory=StrongCluster)
    """How leaders are found."""
    pool: int = 500
    """With more followers than this, each leader looks at so many of them, drawn."""

    needs: ClassVar[frozenset[str]] = frozenset({*MACHINE, "labels"})

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("quota", "a whole number from 0", self.quota >= 0),
            ("shortlist", "a whole number from 1", self.shortlist >= 1),
            ("leaders", "a whole number from 1, or none", self.leaders is None or self.leaders >= 1),
            ("cap", "a number above 0, or none", self.cap is None or self.cap > 0),
            ("gain_weight", "a number from 0", 0 <= self.gain_weight < np.inf),
            ("payment_weight", "a number from 0", 0 <= self.payment_weight < np.inf),
            ("weights", "three numbers above 0", len(self.weights) == 3 and all(0 < w < np.inf for w in self.weights)),
            ("pool", "at least the shortlist", self.pool >= self.shortlist),
            (
                "shortlist",
                f"so short that it has at most {MOST_GROUPS:,} groups of the quota",
                self.choice != "exhaustive" or comb(self.shortlist, min(self.quota, self.shortlist)) <= MOST_GROUPS,
            ),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")

    def begin(self, roster: Roster) -> Formed | None:
        return None

    def form(self, view: View, state: Formed | None) -> Coalitions:
        formed = self._formed(view) if state is None else state
        view.note(view.roster.ids, strength=formed.strength)
        return Coalitions(formed.labels, _led(formed, view.present), formed.certificate)

    def learn(self, view: View, plan: Plan, replies: Replies, state: Formed | None) -> Formed | None:
        if state is not None or plan.coalitions is None or plan.coalitions.leaders is None or not len(plan.coalitions):
            return state
        strength = plan.why.column("strength", len(view.roster))
        return Formed(plan.coalitions.labels, plan.coalitions.leaders, strength, plan.coalitions.certificate)

    def _formed(self, view: View) -> Formed:
        there, nobody = view.present, np.full(len(view.roster), np.nan)
        labels = np.full(len(view.roster), -1, np.intp)
        if not len(there):
            return Formed(labels, np.empty(0, np.intp), nobody, {})
        counts = np.maximum(np.asarray(view.ask.label_counts(there), np.int64), 0)
        found = self.among(np.column_stack([view.roster[name][there] for name in MACHINE]), counts, view.rng)
        followers = np.isfinite(found.payment)
        view.note(there[followers], payment=found.payment[followers], utility=found.utility[followers])
        labels[there], strength = found.labels, nobody.copy()
        strength[there] = found.strength
        return Formed(labels, there[found.leaders], strength, found.certificate)

    def among(self, machine: Floats, counts: NDArray[np.int64], rng: np.random.Generator) -> Matched:
        """Forms coalitions of a population: clients × (CPU, RAM, bandwidth), and clients × classes."""
        strong, strength = self.strongest(machine, counts, rng)
        leaders, worth = strong.leaders, Worth.within(counts, self.weights)
        followers = np.setdiff1d(np.arange(len(counts)), leaders)
        lists = self.shortlists(counts[leaders], counts[followers], rng, worth)
        market = self.market(lists, counts[leaders], counts[followers], worth)
        quotas = np.full(len(leaders), self.quota)
        matched = deferred_acceptance(market, len(followers), quotas)
        labels = np.empty(len(counts), np.intp)
        labels[leaders], labels[followers] = np.arange(len(leaders)), matched
        taken = matched[lists.follower] == lists.leader
        payment, utility = np.full((2, len(counts)), np.nan)
        payment[followers[lists.follower[taken]]] = lists.payment[taken]
        utility[followers[lists.follower[taken]]] = lists.utility[taken]
        certificate = {
            "leaders_by": strong.how,
            "leaders_why": strong.why,
            "blocking_pairs": len(blocking_pairs(market, matched, quotas)),
            "payments": float(lists.payment[taken].sum()),
            "leaders_utility": float((lists.leader_gain * lists.payment)[taken].sum()),
            "outside": int((matched < 0).sum()),
        }
        return Matched(labels, leaders, payment, utility, strength, certificate)

    def strongest(self, machine: Floats, counts: NDArray[np.int64], rng: np.random.Generator) -> tuple[Strong, Floats]:
        """Who leads, as rows, and how strong everybody is; `machine` is clients × (CPU, RAM, bandwidth)."""
        features = np.column_stack([machine, *Worth.within(counts).parts(counts)])
        together = np.zeros(len(features), np.intp)
        strength = np.linalg.norm([scaled_within(column, together) for column in features.T], axis=0)
        found = self.strong.find(features, rng)
        if self.leaders is not None and len(found.leaders) > self.leaders:
            first = found.leaders[np.argsort(-strength[found.leaders], kind="stable")[: self.leaders]]
            found = Strong(np.sort(first), found.how, found.why)
        return found, strength

    def shortlists(
        self, leaders: NDArray[np.int64], followers: NDArray[np.int64], rng: np.random.Generator, worth: Worth
    ) -> Shortlists:
        """Each leader's list, from counts of labels; with the followers' payments and what they have of it."""
        alone_leaders, alone_followers = worth.score(leaders), worth.score(followers)
        rows: list[tuple[NDArray[np.intp], Floats, Floats, Floats, Floats]] = []
        for leader, own in enumerate(leaders):
            some = np.arange(len(followers))
            if len(some) > self.pool:
                some = np.sort(rng.choice(len(followers), self.pool, replace=False))
            together = worth.together(own, followers[some])
            first = np.argsort(alone_leaders[leader] - together, kind="stable")[: self.shortlist]
            gain = together[first] - alone_followers[some[first]]
            paid = self.payments(gain)
            rows.append((some[first], together[first] - alone_leaders[leader], gain, paid, stackelberg.utilities(gain, paid)))
        if not rows:
            rows = [(np.empty(0, np.intp), *(np.empty(0) for _ in range(4)))]  # type: ignore[list-item]
        follower, leader_gain, follower_gain, payment, utility = (np.concatenate(column) for column in zip(*rows, strict=True))
        listing = np.repeat(np.arange(len(leaders)), [len(row[0]) for row in rows[: len(leaders)]])
        return Shortlists(listing, follower, leader_gain, follower_gain, payment, utility)

    def payments(self, gains: Floats) -> Floats:
        """What the followers of one list pay."""
        cap = np.inf if self.cap is None else self.cap
        return (stackelberg.equilibrium if self.equilibrium == "nash" else stackelberg.one_shot)(gains, cap)

    def market(self, lists: Shortlists, leaders: NDArray[np.int64], followers: NDArray[np.int64], worth: Worth) -> Market:
        """Who likes whom how much: leaders by their choice, followers by their utility."""
        liked = np.empty(len(lists.leader))
        ends = np.searchsorted(lists.leader, np.arange(len(leaders) + 1))
        for leader, (start, stop) in enumerate(pairwise(ends)):
            few = slice(start, stop)
            if self.choice == "joint":
                liked[few] = joint_ranks(leaders[leader], followers[lists.follower[few]], worth)
            else:
                liked[few] = self.likes(lists.leader_gain[few], lists.payment[few])
        return Market(lists.follower, lists.leader, lists.utility, liked)

    def likes(self, gains: Floats, payments: Floats) -> Floats:
        """How a leader ranks a list by gains and payments: w_f of Algorithm 8, or another choice's."""
        if self.choice == "product":
            return gains * payments
        if self.choice == "exhaustive":
            return _inside(best_group(gains, payments, self.quota), len(gains)) + scaled(gains * payments) / 2
        if self.choice == "printed":
            return self.gain_weight * gains + self.payment_weight * payments
        return self.gain_weight * scaled(gains) + self.payment_weight * scaled(payments)


def scaled(values: Floats) -> Floats:
    """Values over the largest of them, where that is above 0."""
    largest = float(values.max(initial=0.0))
    return values / largest if largest > 0 else values


def best_group(gains: Floats, payments: Floats, quota: int) -> NDArray[np.intp]:
    """The group of at most `quota` followers with the largest utility (4.20), by looking at all groups.

    >>> best_group(np.array([1.0, 3.0, 2.0]), np.array([3.0, 2.0, 1.0]), 2).tolist()
    [0, 1]
    """
    worth = gains * payments
    groups = combinations(range(len(worth)), min(quota, len(worth)))
    return np.array(max(groups, key=lambda group: sum(worth[follower] for follower in group)), dtype=np.intp)


def joint_ranks(leader: NDArray[np.int64], followers: NDArray[np.int64], worth: Worth) -> Floats:
    """Followers in the order in which they add most to the coalition that is there already; more is earlier."""
    ranks, left, pooled = np.zeros(len(followers)), list(range(len(followers))), leader.copy()
    for place in range(len(followers)):
        best = left.pop(int(np.argmax(worth.together(pooled, followers[left]))))
        ranks[best] = len(followers) - place
        pooled = pooled + followers[best]
    return ranks


def _inside(group: NDArray[np.intp], count: int) -> Floats:
    inside = np.zeros(count)
    inside[group] = 1.0
    return inside


def _led(formed: Formed, present: Ids) -> Ids:
    """Each coalition's leader; where it is away the strongest member that is there, if any."""
    leaders = formed.leaders.copy()
    there = np.isin(np.arange(len(formed.labels)), present)
    vacant = np.flatnonzero(~there[leaders])
    able = present[np.isin(formed.labels[present], vacant)]
    for client in able[np.argsort(formed.strength[able], kind="stable")]:  # the strongest writes last
        leaders[formed.labels[client]] = client
    return leaders
