"""The behavior audit: honest or dishonest, round by round, from the updates alone.

An update (the model that a client sent minus the model that it was given) is compared with what the client could have made
it of without training: nothing, the shared model's last step, an earlier model or update of its own, somebody else's. What
is left when the nearest of these is taken out has to point somewhere: honest updates have much in common, since they
descend the same kind of loss; noise points nowhere. How much noise has in common with k given directions of d dimensions by
chance is known exactly (a Beta distribution), so that question needs no tuning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float32
from numpy.typing import ArrayLike, NDArray

from coterie.federation import View
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.roster import Column, Ids, Roster
from coterie.rules import Believer
from coterie.trust.claims import Claims
from coterie.trust.comparing import Nearest, Seen
from coterie.trust.past import Floats, Past

SENT_BACK = "it sent back the model that it was given"
NOISE = "its update points nowhere, as noise does"
WITH_NOISE = ", with noise on it"
LARGE = "its update is far longer than others'"
AGAINST = "its update points against all that others are like it"
ALIKE = "it has moved with another like one client, round after round"
CLOCK = "it took another time than its size and speed make expected"
TOLD = "it tells of a far higher loss than its model's move bears out"
LOSS = "its model is worse on held-out data, far more than others'"


@dataclass(frozen=True, eq=False)
class Judged:
    """The verdicts of a round, one row a client."""

    clients: Ids
    honest: NDArray[np.bool_]
    reason: tuple[str, ...]
    """Why one is not; empty where honest."""
    score: Floats
    """The largest of the scores; 1 and more is dishonest."""
    scores: Mapping[str, Floats] = field(default_factory=dict)
    """By question: idle, copy, noise, large, against, alike; loss, clock and told where there was something to go by."""

    @property
    def doubts(self) -> dict[int, str]:
        """Who is not honest, with the reason."""
        return {int(k): why for k, good, why in zip(self.clients, self.honest, self.reason, strict=True) if not good}


@dataclass(frozen=True)
class Audit(Believer):
    """Believes those whose updates look like training, and nobody who copies, replays, adds noise or sends nothing (ours).

    A reply that is found dishonest is left out of its round; one that the door refused for what it holds counts as
    dishonest too. A client's trust is (p + h)/(p + h + p·d) after h honest and d dishonest rounds, p being `patience`:
    one bad round in the beginning is forgiven, two are not, and those below `threshold` are chosen no more.
    Similarity of whole histories is FoolsGold's (Fung, Yoon and Beschastnikh, 2020); the question whether what is left
    is noise is ours.

    Where the source is silent: FoolsGold weighs and does not judge, and among non-IID clients it takes the weight of honest
    ones that are alike; so a verdict asks for nearly equal histories (`alike`). Its weights are the aggregator `foolsgold`.
    """

    idle: float = 1e-4
    """An update shorter than this share of the median one is none."""
    copy: float = 1e-5
    """What part of an update's square may be missing in a copy."""
    noise: float = 1e-3
    """How often noise passes as an update."""
    large: float = 10.0
    """An update so many times as long as the median one is too long."""
    against: float = 0.75
    """How far a client's updates may point against what they are like, each from −1 to 1, added up over its rounds."""
    alike: float = 1e-3
    """By how much histories of different clients differ at least, as 1 − cosine."""
    loss: float = 6.0
    """By how many of the usual deviations a held-out loss may rise more than the median reply's; where losses are given."""
    clock: float = 1.5
    """A reply so many times as early or as late as what its client says of itself makes expected is not believed; 0: any is."""
    absolute: bool = False
    """Whether the roster's speed is in samples of training a second, as in the simulation; else clients are compared."""
    told: float = 6.0
    """A loss so many times as high as the model's move bears out, beside the modest third's, is not believed; 0: any is."""
    patience: float = 2.0
    """How many honest rounds a newcomer has to its credit."""
    threshold: float = 0.5
    """Trust below it makes a suspect."""
    bank: int = 64
    """Updates of others from earlier rounds that are looked at."""
    sketch: int = 2048
    """Numbers of a sketch at most; smaller models are taken whole."""

    def __post_init__(self) -> None:
        for name in ("idle", "copy", "noise", "alike", "threshold"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}: must be in [0, 1], not {getattr(self, name)!r}")
        for name in ("clock", "told"):
            if not (getattr(self, name) > 1 or getattr(self, name) == 0):
                raise ValueError(f"{name}: must be a number above 1, or 0, not {getattr(self, name)!r}")
        for name in ("large", "loss"):
            if not getattr(self, name) > 1:
                raise ValueError(f"{name}: must be a number above 1, not {getattr(self, name)!r}")
        for name in ("against", "patience"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: must be a number above 0, not {getattr(self, name)!r}")
        if self.bank < 0 or self.sketch < 64:
            raise ValueError(f"bank: must be from 0 and sketch from 64, not {self.bank!r} and {self.sketch!r}")

    def begin(self, roster: Roster) -> Past:
        return Past.none(len(roster))

    def believe(self, view: View, state: Past) -> Column:
        return self.trust(state)

    def trust(self, past: Past) -> Floats:
        """Trust after what was judged: 1 for newcomers."""
        good = self.patience + past.honest
        return np.asarray(good / (good + self.patience * past.dishonest))

    def suspects(self, trust: Column) -> NDArray[np.bool_]:
        return np.asarray(trust < self.threshold)

    def heed(self, view: View, plan: Plan, replies: Replies, state: Past) -> tuple[Mapping[int, str], Past]:
        start = plan.start[np.searchsorted(plan.trainers, replies.clients)]
        judged, past = self.judge(
            replies.clients,
            view.models[start],
            replies.models,
            state,
            arrival=replies.seconds,
            claims=Claims.of(view, plan, replies),
            seed=view.seed,
        )
        return judged.doubts, _refused(past, replies)

    def judge(
        self,
        clients: ArrayLike,
        before: Float32[np.ndarray, "replies dim"],
        after: Float32[np.ndarray, "replies dim"],
        past: Past,
        *,
        arrival: ArrayLike | None = None,
        losses: tuple[ArrayLike, ArrayLike] | None = None,
        claims: Claims | None = None,
        seed: int = 0,
    ) -> tuple[Judged, Past]:
        """Judges the replies of one round.

        Args:
            clients: Who replied: rows of `past`, each once.
            before: The model that each was given.
            after: The model that each sent.
            past: What was remembered; `Past.none(clients)` at first.
            arrival: When each reply came: of two that are alike, the first is no copy. Without it neither is believed.
            losses: Mean losses on a held-out set, of `before` and of `after`, one a reply; NaN where not known.
            claims: What clients said of themselves, beside what was seen.
            seed: Makes the sketch, so that nobody outside can tell it beforehand. The same in every round.
        """
        ids = np.asarray(clients, np.intp)
        if len(np.unique(ids)) < len(ids) or before.shape != after.shape or len(ids) != len(after):
            raise ValueError("audit: each client once, and one model before and after for each")
        came = np.zeros(len(ids)) if arrival is None or not np.size(arrival) else np.asarray(arrival, np.float64)
        seen = Seen.of(ids, before, after, came, past, self.sketch, seed)
        nearest = seen.nearest(past, self.bank)
        scores, reasons = self._questions(seen, nearest, past, losses, claims)
        total = np.max([*scores.values(), np.zeros(len(ids))], axis=0)
        honest = total < 1
        judged = Judged(ids, honest, tuple("" if h else why for h, why in zip(honest, reasons, strict=True)), total, scores)
        known = seen.remembered(past, honest, nearest.leaning)
        return judged, known if claims is None else _believed(known, claims, ids, honest)

    def _questions(
        self,
        seen: Seen,
        nearest: Nearest,
        past: Past,
        losses: tuple[ArrayLike, ArrayLike] | None,
        claims: Claims | None,
    ) -> tuple[dict[str, Floats], list[str]]:
        """Scores by question, and for each reply the reason that the first question at 1 or more gives."""
        idle = _over(self.idle * seen.usual, seen.lengths)
        found = {
            "idle": idle,
            "copy": _over(np.full(len(idle), self.copy), nearest.missing),
            "noise": np.minimum(nearest.chance / self.noise, 1e3) if self.noise else np.zeros(len(idle)),
            "large": seen.lengths / (self.large * seen.usual) if seen.usual > 0 else np.zeros(len(idle)),
            "against": np.maximum(-seen.leans(past, nearest.leaning), 0) / self.against,
            "alike": _over(np.full(len(idle), self.alike), 1 - seen.twin(past)),
        }
        whys = {
            "idle": [SENT_BACK] * len(idle),
            "copy": list(nearest.kind),
            "noise": [why + WITH_NOISE if part > 0.5 else NOISE for why, part in zip(nearest.kind, nearest.part, strict=True)],
            "large": [LARGE] * len(idle),
            "against": [AGAINST] * len(idle),
            "alike": [ALIKE] * len(idle),
        }
        still = idle >= 1
        for name in ("copy", "noise", "against"):
            found[name] = np.where(still, 0.0, found[name])
        if losses is not None:
            found["loss"] = _risen(*(np.asarray(one, np.float64) for one in losses)) / self.loss
            whys["loss"] = [LOSS] * len(idle)
        if claims is not None and self.clock:
            found["clock"] = claims.off(past, seen.clients, self.absolute) / np.log(self.clock)
            whys["clock"] = [CLOCK] * len(idle)
        if claims is not None and self.told:
            good = np.max([*found.values()], axis=0) < 1
            found["told"] = claims.louder(past, seen.clients, good) / np.log(self.told)
            whys["told"] = [TOLD] * len(idle)
        reasons = [next((whys[name][i] for name in found if found[name][i] >= 1), "") for i in range(len(idle))]
        return found, reasons


def _refused(past: Past, replies: Replies) -> Past:
    """Counts a reply that the door refused for what it holds as a dishonest round; not one that came late or twice."""
    wrong = past.dishonest.copy()
    wrong[replies.malformed] += 1
    return replace(past, dishonest=wrong)


def _believed(past: Past, claims: Claims, ids: Ids, honest: NDArray[np.bool_]) -> Past:
    """Keeps what honest clients' claims were like."""
    clocks, gauges = past.clocks.copy(), past.gauges.copy()
    clocks[ids[honest]] = np.where(np.isnan(claims.clock[honest]), clocks[ids[honest]], claims.clock[honest])
    gauges[ids[honest]] = np.where(np.isnan(claims.gauge[honest]), gauges[ids[honest]], claims.gauge[honest])
    return replace(past, clocks=clocks, gauges=gauges)


def _over(limit: ArrayLike, values: Floats) -> Floats:
    """Limits over values, at most 1000; 1000 for a value of 0, unless the limit is 0 as well and nothing is asked."""
    limits = np.broadcast_to(np.asarray(limit, np.float64), values.shape)
    ratio = np.divide(limits, values, out=np.full(values.shape, 1e3), where=values > 0)
    return np.asarray(np.where(limits > 0, np.minimum(ratio, 1e3), 0.0))


def _risen(before: Floats, after: Floats) -> Floats:
    """By how many usual deviations each loss rose more than the median reply's; 0 where it fell or is not known."""
    rise = after - before
    known = ~np.isnan(rise)
    if not known.any():
        return np.zeros(len(rise))
    middle = np.median(rise[known])
    usual = max(1.4826 * float(np.median(np.abs(rise[known] - middle))), 0.05 * float(np.mean(np.abs(before[known]))), 1e-9)
    return np.where(known & (rise > 0), np.maximum(np.nan_to_num(rise) - middle, 0) / usual, 0.0)
