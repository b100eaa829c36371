"""Believes devices by what their gauges read and by what their peers say of them: both trusts of FedTrust, round by round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float, Float32
from numpy.typing import NDArray

from coterie import seeds
from coterie.federation import Ask, View
from coterie.plan import USE, Plan
from coterie.replies import Replies
from coterie.roster import Column, Ids, Roster
from coterie.rules import Believer, State
from coterie.trust.audit import Audit
from coterie.trust.recommendations import How, Words, overall_trust, word
from coterie.trust.telemetry import objective_trust

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Heard:
    """What was read and seen so far: a row a device, and an entry a pair that met."""

    use: Float32[np.ndarray, "devices resources slots"]
    """The last readings, the oldest overwritten first; NaN for none."""
    reference: Float32[np.ndarray, "devices resources firsts"]
    """The first readings, where these are kept as a reference."""
    count: NDArray[np.int64]
    """How many readings of each device came."""
    last: NDArray[np.int64]
    """In which round each device was asked last; 0 for never."""
    pairs: NDArray[np.int64]
    """Who met whom, observer × devices + observed, in order."""
    good: NDArray[np.int64]
    """In how many rounds each pair's observer saw the observed do well."""
    bad: NDArray[np.int64]
    said: Floats
    """What each pair's observer says of the observed."""
    trust: Float[np.ndarray, " devices"]
    """What follows from it."""
    audit: State
    """The audit's own memory."""


@dataclass(frozen=True)
class Evidence(Believer):
    """Trusts devices for what they give of their machines, and for what peers saw of them (thesis, section 3.3).

    1. Each reply brings what the device's gauges read: CPU, RAM, bandwidth. Objective trust τ compares the readings with what
       the device should use (`objective_trust`).
    2. Peers of a coalition see of each other whether an update came and whether it was flagged. A peer's word is the mean of
       a Beta posterior over these rounds (Alg. 2).
    3. Trust is (τ + the mean word)/2 (Eq. 3.1), τ where nobody says anything, and 1 for a new device.

    Where the source is silent: what flags an update. Here it is `audit`, whose doubts also keep a reply out of its round, and
    a length far below what members of the coalition make of as many samples (`short`), which only costs a good word. Lengths
    grow about as the square root of the samples. In large coalitions a device has `witnesses` peers who watch it, the same ones
    as long as they are there, since the words of all would grow with the square of the coalition. Without coalitions
    nobody meets, and trust is τ. A suspect that is asked no more has no way back, unless it is told to `forgive`. Devices are
    taken to read their gauges truthfully.
    """

    threshold: float = 0.5
    """Trust strictly below it makes a suspect."""
    rule: Literal["reference", "printed"] = "reference"
    """How readings become τ: against the device's reference or its peers, or Algorithm 1 as printed."""
    recommendations: How = "mean"
    """How words become one: the median is not moved by fewer than half of the speakers."""
    reference: int = 0
    """So many first readings of a device are its reference; 0: it is compared with its peers."""
    slots: int = 30
    """Readings that are remembered."""
    short: float = 0.7
    """An update is flagged that is shorter than this share of what is usual for as many samples."""
    witnesses: int = 30
    """How many peers of its coalition watch a device at most."""
    forgive: int = 0
    """After so many rounds in which it was not asked a suspect is as good as new (ours); 0: never."""
    audit: Believer = field(default_factory=Audit)
    """Who else flags updates."""

    wants: ClassVar[frozenset[str]] = frozenset(USE)

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("threshold", "in [0, 1]", 0 <= self.threshold <= 1),
            ("rule", "'reference' or 'printed'", self.rule in ("reference", "printed")),
            ("recommendations", "'mean' or 'median'", self.recommendations in ("mean", "median")),
            ("reference", "a whole number from 0", self.reference >= 0),
            ("slots", "a whole number from 1", self.slots >= 1),
            ("short", "in [0, 1]", 0 <= self.short <= 1),
            ("witnesses", "a whole number from 0", self.witnesses >= 0),
            ("forgive", "a whole number from 0", self.forgive >= 0),
            ("audit", "a rule that wants no readings itself", not self.audit.wants),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")

    def begin(self, roster: Roster) -> Heard:
        devices, none = len(roster), np.empty(0, np.int64)
        blank = np.full((devices, len(USE), self.slots), np.nan, np.float32)
        kept = np.full((devices, len(USE), self.reference), np.nan, np.float32)
        zeros, trust = np.zeros(devices, np.int64), np.ones(devices)
        return Heard(blank, kept, zeros, zeros, none, none, none, np.empty(0), trust, self.audit.begin(roster))

    def believe(self, view: View, state: Heard) -> Column:
        return state.trust

    def suspects(self, trust: Column) -> Flags:
        return np.asarray(trust < self.threshold)

    def heed(self, view: View, plan: Plan, replies: Replies, state: Heard) -> tuple[Mapping[int, str], Heard]:
        doubts, audit = self.audit.heed(view, plan, replies, state.audit)
        flagged = np.isin(replies.clients, list(doubts)) | self.shorter(view, plan, replies)
        well = np.isin(plan.trainers, replies.clients[~flagged])
        last = state.last.copy()
        last[plan.trainers] = view.round
        state = replace(state, audit=audit, last=last)
        known = self.met(self.read(state, replies), plan, replies.clients, well, view.seed)
        said = self.words(known, view.ask)
        return doubts, self.forgiven(replace(known, said=said, trust=self.trust(known, said)), view.round)

    def learn(self, view: View, plan: Plan, replies: Replies, state: Heard) -> Heard:
        return replace(state, audit=self.audit.learn(view, plan, replies, state.audit))

    def forgiven(self, heard: Heard, round: int) -> Heard:
        """Forgets what is known of suspects that have not been asked for long enough."""
        anew = self.suspects(heard.trust) & (round - heard.last >= self.forgive) if self.forgive else np.zeros(1, bool)
        if not anew.any():
            return heard
        use, reference, count = heard.use.copy(), heard.reference.copy(), heard.count.copy()
        use[anew], reference[anew], count[anew] = np.nan, np.nan, 0
        kept = ~anew[heard.pairs % len(anew)]
        pairs, said = heard.pairs[kept], heard.said[kept]
        fresh = replace(heard, use=use, reference=reference, count=count, pairs=pairs, said=said)
        fresh = replace(fresh, good=heard.good[kept], bad=heard.bad[kept])
        return replace(fresh, trust=self.trust(fresh, said))

    def trust(self, heard: Heard, said: Floats) -> Float[np.ndarray, " devices"]:
        """Eq. 3.1 for every device."""
        own = heard.reference if self.reference and self.rule == "reference" else None
        objective = objective_trust(heard.use, self.rule, reference=own)
        about = heard.pairs % max(len(objective), 1)
        return overall_trust(objective, Words(about.astype(np.intp), said), self.recommendations)

    def words(self, heard: Heard, ask: Ask) -> Floats:
        """What those who met say of each other when they are asked."""
        speakers, about = np.divmod(heard.pairs, max(len(heard.trust), 1))
        return ask.words(speakers, about, word(heard.good, heard.bad))

    def read(self, state: Heard, replies: Replies) -> Heard:
        """Writes down the readings that replies brought."""
        if not replies.facts.keys() >= set(USE):
            return state
        told = np.column_stack([replies.facts[name] for name in USE]).astype(np.float32)
        told[(told < 0) | (told > 1)] = np.nan
        use, reference, count = state.use.copy(), state.reference.copy(), state.count.copy()
        early = count[replies.clients] < self.reference
        for kept, some, first in ((reference, early, 0), (use, ~early, self.reference)):
            who = replies.clients[some]
            if len(who):
                kept[who, :, (count[who] - first) % kept.shape[2]] = told[some]
        count[replies.clients] += 1
        return replace(state, use=use, reference=reference, count=count)

    def met(self, state: Heard, plan: Plan, answered: Ids, well: Flags, seed: int) -> Heard:
        """Adds a round to what peers saw: of each trainer whether it did `well`, by those of its coalition who answered."""
        if plan.coalitions is None or not self.witnesses:
            return state
        devices = len(state.trust)
        order = seeds.rng(seed, "witnesses").permutation(devices)
        observer, observed = watching(plan.coalitions.labels[plan.trainers], order[plan.trainers], self.witnesses)
        sees = np.isin(plan.trainers[observer], answered)
        observer, observed = observer[sees], observed[sees]
        codes = plan.trainers[observer].astype(np.int64) * devices + plan.trainers[observed]
        pairs, place = np.unique(np.concatenate([state.pairs, codes]), return_inverse=True)
        old, new = place[: len(state.pairs)], place[len(state.pairs) :]
        good, bad = np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.int64)
        good[old], bad[old] = state.good, state.bad
        good[new] += well[observed]
        bad[new] += ~well[observed]
        return replace(state, pairs=pairs, good=good, bad=bad)

    def shorter(self, view: View, plan: Plan, replies: Replies) -> Flags:
        """Which updates are far shorter than is usual in their coalition for as many samples."""
        start = plan.start[np.searchsorted(plan.trainers, replies.clients)]
        length = np.linalg.norm(replies.models - view.models[start], axis=1).astype(np.float64)
        group = np.zeros(len(length), np.intp) if plan.coalitions is None else plan.coalitions.labels[replies.clients]
        return too_short(length / np.sqrt(replies.counts), group, self.short)


def too_short(lengths: Float[np.ndarray, " updates"], groups: NDArray[np.intp], share: float) -> Flags:
    """Which are below a share of their group's median; nobody in a group of one or two.

    >>> too_short(np.array([1.0, 0.9, 0.2, 0.1, 0.2]), np.array([0, 0, 0, 1, 1]), 0.7).tolist()
    [False, False, True, False, False]
    """
    found = np.zeros(len(lengths), dtype=bool)
    for group in np.unique(groups):
        inside = groups == group
        if inside.sum() > 2:
            found[inside] = lengths[inside] < share * np.median(lengths[inside])
    return found


def watching(groups: NDArray[np.intp], order: NDArray[np.intp], most: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Who watches whom, as two columns of places: in each group the next `most` after oneself in a ring sorted by `order`.

    >>> who, whom = watching(np.array([0, 0, 0, 1]), np.array([2, 0, 1, 3]), 1)
    >>> who.tolist(), whom.tolist()
    ([2, 0, 1], [1, 2, 0])
    """
    who, whom = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
    ranked = np.lexsort((order, groups))
    ends = np.flatnonzero(np.diff(groups[ranked], append=-2)) + 1
    for ring in np.split(ranked, ends[:-1]) if len(ranked) else []:
        steps = np.arange(1, min(most, len(ring) - 1) + 1)
        places = np.arange(len(ring))
        who.append(ring[(places[np.newaxis] + steps[:, np.newaxis]) % len(ring)].ravel())
        whom.append(np.tile(ring, len(steps)))
    return np.concatenate(who), np.concatenate(whom)
