"""Useful and fast: guided participant selection (Lai et al., 2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coterie.federation import View
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.roster import Ids, Roster
from coterie.rules import Selector
from coterie.selectors.draw import draw

Column = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Seen:
    """What Oort remembers."""

    utility: Column
    """Statistical utility of each client's last training, NaN for one never explored."""
    seconds: Column
    """How long it took, NaN likewise."""
    last: NDArray[np.int64]
    """The round of it."""
    times: NDArray[np.int64]
    """How often each client has trained."""
    percentile: float
    """The pacer's percentile of durations."""
    gains: tuple[float, ...] = ()
    """Mean utility of the exploited, of the last 2W rounds."""


@dataclass(frozen=True)
class Oort(Selector):
    """Trains clients whose loss is high and who are fast enough, and always some new ones (Lai et al., 2021).

    1. A client's statistical utility is U = |B| √(Σ loss² / |B|) over the samples of its last training.
    2. Score of an explored one: U, clipped at a quantile and scaled to 0…1, plus √(0.1 ln(t) / round of its last
       training), times (T / its seconds)^α if it takes longer than T.
    3. ⌊(1−ε)m⌋ are exploited: drawn in proportion to their score from all whose score is at least 0.95 of the score
       at that rank. The others are explored: drawn from the never tried with the highest guess, in proportion to it.
    4. ε falls every round by a factor down to a floor. The pacer moves T, a percentile of the known seconds.

    The paper and its published code (SymbioticLab/Oort) differ. The scoring, with the bonus added before the factor, and
    the guess, its size by its speed, are the code's; `pacer` names both. The code's cut-off is 0.7 and its T starts
    unlimited; its normalization includes guesses for unexplored clients, ours only what was seen. Ours too: seconds
    of unexplored clients come from the roster's column 'speed' (samples a second), scaled to what the explored took;
    without it, all count as fast enough. Where one group has too few clients the other fills up.
    """

    per_round: int
    """m, how many train in a round."""
    exploration: float = 0.9
    """ε, the share of new clients in the first round."""
    decay: float = 0.98
    """What ε is multiplied by every round."""
    exploration_min: float = 0.2
    """The floor of ε."""
    clip: float = 0.95
    """The quantile at which utilities are clipped."""
    cutoff: float = 0.95
    """The share of the last exploited rank's score that a client needs to be in the draw."""
    penalty: float = 2.0
    """α, how much slow clients lose; 0 for nothing."""
    percentile: float = 30.0
    """T at first, as a percentile of durations; 100 for no limit."""
    pacer: Literal["code", "paper", "off"] = "code"
    """When T rises by a step: gains flat within 10 % (and it falls when they jump fivefold), or gains falling, or never."""
    pacer_step: int = 20
    """W, the rounds between two looks at the gains."""
    pacer_delta: float = 10.0
    """The step of T's percentile."""
    window: float = 5.0
    """New clients are drawn from so many times as many, those with the highest guess."""
    max_times: int | None = None
    """Who has trained more often than this is left out; None for no limit."""

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("per_round", "a whole number from 1", self.per_round >= 1),
            ("exploration", "in [0, 1]", 0 <= self.exploration <= 1),
            ("decay", "in (0, 1]", 0 < self.decay <= 1),
            ("exploration_min", "in [0, 1]", 0 <= self.exploration_min <= 1),
            ("clip", "in (0, 1]", 0 < self.clip <= 1),
            ("cutoff", "in [0, 1]", 0 <= self.cutoff <= 1),
            ("penalty", "a number from 0", self.penalty >= 0),
            ("percentile", "in [0, 100]", 0 <= self.percentile <= 100),
            ("pacer_step", "a whole number from 1", self.pacer_step >= 1),
            ("pacer_delta", "a number from 0", self.pacer_delta >= 0),
            ("window", "a number from 1", self.window >= 1),
            ("max_times", "a whole number from 1", self.max_times is None or self.max_times >= 1),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")

    def begin(self, roster: Roster) -> Seen:
        unknown, none = np.full(len(roster), np.nan), np.zeros(len(roster), np.int64)
        return Seen(unknown, unknown, none, none, self.percentile)

    def choose(self, view: View, state: Seen) -> Ids:
        allowed = view.present[state.times[view.present] <= (math.inf if self.max_times is None else self.max_times)]
        fresh = np.isnan(state.utility[allowed])
        new, known = allowed[fresh], allowed[~fresh]
        seconds = expected_seconds(view.roster, state.seconds)
        limit = percentile(seconds, state.percentile)
        scores = self.scores(view.round, state, known) * self.slowness(seconds[known], limit)
        guesses = np.maximum(view.roster["size"][new], 1) * self.slowness(seconds[new], limit)
        view.note(known, score=scores, utility=state.utility[known])
        view.note(new, guess=guesses)

        exploited = self.per_round - min(len(new), self.explored_of(view.round))
        picked = self.exploit(view.rng, known, scores, exploited)
        return np.sort(np.concatenate([picked, self.explore(view.rng, new, guesses, self.per_round - len(picked))]))

    def explored_of(self, t: int) -> int:
        """How many of round t are new clients, as long as there are any."""
        epsilon = max(self.exploration * self.decay ** (t - 1), self.exploration_min)
        return self.per_round - int(self.per_round * (1 - epsilon) + 1e-9)

    def scores(self, t: int, state: Seen, known: Ids) -> Column:
        """Scaled utility plus what speaks for a second look, for explored clients."""
        if not len(known):
            return np.empty(0)
        utility = state.utility[known]
        ranked = np.sort(utility)
        low, high = ranked[0] * 0.999, ranked[-1]
        clipped = np.minimum(utility, ranked[min(int(len(ranked) * self.clip), len(ranked) - 1)])
        again = np.sqrt(0.1 * math.log(t) / state.last[known])
        return np.asarray((clipped - low) / max(high - low, 1e-4) + again)

    def slowness(self, seconds: Column, limit: float) -> Column:
        """The factor (T/t)^α of those slower than T; 1 where nothing is known."""
        with np.errstate(invalid="ignore"):
            return np.where(seconds > limit, (limit / np.maximum(seconds, 1e-4)) ** self.penalty, 1.0)

    def exploit(self, rng: np.random.Generator, known: Ids, scores: Column, count: int) -> Ids:
        """Draws among those near or above the score at the last rank that counts."""
        if not len(known) or count <= 0:
            return known[:0]
        edge = self.cutoff * np.sort(scores)[::-1][min(count, len(scores) - 1)]
        near = scores >= edge
        return draw(rng, known[near], count, scores[near])

    def explore(self, rng: np.random.Generator, new: Ids, guesses: Column, count: int) -> Ids:
        """Draws among the most promising of those never tried."""
        best = np.argsort(-guesses, kind="stable")[: int(self.window * count)]
        return draw(rng, new[best], count, guesses[best])

    def learn(self, view: View, plan: Plan, replies: Replies, state: Seen) -> Seen:
        if "loss_rms" not in replies.facts:
            return state
        utility, seconds, last, times = state.utility.copy(), state.seconds.copy(), state.last.copy(), state.times.copy()
        exploited = ~np.isnan(utility[replies.clients])
        utility[replies.clients] = replies.counts * replies.facts["loss_rms"]
        seconds[replies.clients] = replies.seconds
        last[replies.clients] = view.round
        times[replies.clients] += 1
        gain = float(utility[replies.clients[exploited]].mean()) if exploited.any() else 0.0
        gains = (*state.gains, gain)[-2 * self.pacer_step :]
        new = replace(state, utility=utility, seconds=seconds, last=last, times=times, gains=gains)
        return replace(new, percentile=self.paced(view.round, new)) if self.pacer != "off" else new

    def paced(self, t: int, state: Seen) -> float:
        """The pacer's percentile after round t."""
        window = self.pacer_step
        if t % window or len(state.gains) < 2 * window:
            return state.percentile
        before, now = sum(state.gains[:window]), sum(state.gains[window:])
        if before > now if self.pacer == "paper" else abs(now - before) <= 0.1 * before:
            return min(100.0, state.percentile + self.pacer_delta)
        if self.pacer == "code" and abs(now - before) >= 5 * before:
            return max(self.pacer_delta, state.percentile - self.pacer_delta)
        return state.percentile


def expected_seconds(roster: Roster, seconds: Column) -> Column:
    """Seconds seen where there are any, else those that size and speed suggest; NaN where nothing is known."""
    if "speed" not in roster:
        return seconds
    guess = roster["size"] / np.maximum(roster["speed"], 1e-9)
    seen = ~np.isnan(seconds) & (guess > 0)
    scale = float(np.median(seconds[seen] / guess[seen])) if seen.any() else 1.0
    return np.where(np.isnan(seconds), scale * guess, seconds)


def percentile(seconds: Column, percent: float) -> float:
    """The duration at a percentile of the known ones; ∞ at 100 and where none is known."""
    ranked = np.sort(seconds[~np.isnan(seconds)])
    if percent >= 100 or not len(ranked):
        return math.inf
    return float(ranked[min(int(len(ranked) * percent / 100), len(ranked) - 1)])
