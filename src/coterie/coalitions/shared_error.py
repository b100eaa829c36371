"""Who would learn with whom, where nobody knows how noisy samples are or how different clients: PrivShare's coalitions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from coterie.coalitions.error_hedonic import ErrorHedonic
from coterie.coalitions.threshold import Reading, Sight, by_function, by_parameters
from coterie.federation import View
from coterie.plan import Coalitions, Plan
from coterie.replies import Replies
from coterie.report import Bounded, Noise, Report
from coterie.roster import Roster
from coterie.rules import Former

Structure = Literal["game", "grand", "alone"]


@dataclass(frozen=True, eq=False)
class Estimates:
    """What is believed of the federation, and whom it was learned from."""

    noise: float
    """μ̂_e; NaN before the first sight."""
    variance: float
    """σ̂²; NaN before the first sight."""
    doubts: tuple[float, float]
    """The variances that privacy's noise gives either estimate."""
    sights: int
    """Rounds in which something was seen."""
    told: NDArray[np.bool_]
    """Who has reported."""


@dataclass(frozen=True)
class SharedError(Former):
    """The model-sharing game at an estimated threshold T̂ = μ̂_e/σ̂² (after PrivShare's E.3).

    1. After each round, participants report what the estimates need, about the models that they trained (`threshold`).
    2. μ̂_e and σ̂² are averages over the first `warmup` sights, then exponential ones: x ← γ₂ x + (1 − γ₂) sight (Eq. 45, 53).
    3. Participants play the game of `error-hedonic` at T̂, by their reported sizes. Before there is an estimate
       everybody is together.

    Where the source is silent: the rule of formation (its main text is missing); that reports go out under privacy too,
    `epsilon` for all numbers of one; that each client reports once (`observe="once"`), the first time that it takes part
    after `from_round`; that both estimates are floored; that an estimate which is not above the standard deviation that
    privacy's noise gives it is none: everybody stays together.
    """

    variance: Reading = "function"
    """What σ² is read off: members' predictions, or their parameters."""
    gamma: float = 0.9
    """γ₂, how much the past counts."""
    warmup: int = 5
    """Sights that are averaged before the exponential average begins."""
    from_round: int = 1
    """The first round after which participants report: models that have learned little show little."""
    observe: Literal["once", "round"] = "once"
    """Whether a client reports once in its life or whenever it takes part."""
    dimension: int | None = None
    """Of a linear model, D: μ_e is then D times the mean of losses on training and held-out samples, steadier than gaps."""
    epsilon: float = np.inf
    """What one report spends, split evenly over its numbers; infinite for exact ones."""
    clip_gap: float = 0.25
    """Gaps are told between less this much and this much. For classes they lie in [−1, 1] by nature."""
    clip_spread: float = 1.0
    """Spreads are told up to this much."""
    clip_loss: float = 5.0
    """Losses are told up to this much."""
    floor: float = 1e-4
    """The smallest μ̂_e and σ̂²."""
    structure: Structure = "game"
    """'grand' and 'alone' estimate, but have everybody together or apart: controls."""
    stability: Literal["nash", "individual"] = "nash"
    """Whether a coalition lets in only whom no member loses by."""
    noise: Noise = "simple"
    """'vetted' draws it by OpenDP, with dice that do not repeat; 'simple' is for simulations."""
    cap: float = np.inf
    """What a client may spend in all, on whatever it tells."""

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("variance", "one of " + ", ".join(get_args(Reading)), self.variance in get_args(Reading)),
            ("gamma", "in [0, 1)", 0 <= self.gamma < 1),
            ("warmup", "a whole number from 1", self.warmup >= 1),
            ("from_round", "a whole number from 1", self.from_round >= 1),
            ("observe", "'once' or 'round'", self.observe in ("once", "round")),
            ("dimension", "None or a whole number from 1", self.dimension is None or self.dimension >= 1),
            ("epsilon", "a number above 0", self.epsilon > 0),
            ("floor", "a number above 0", 0 < self.floor < np.inf),
            ("structure", "'game', 'grand' or 'alone'", self.structure in get_args(Structure)),
            ("stability", "'nash' or 'individual'", self.stability in ("nash", "individual")),
            ("cap", "a number above 0", self.cap > 0),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")
        self.question(1)

    def begin(self, roster: Roster) -> Estimates:
        return Estimates(np.nan, np.nan, (0.0, 0.0), 0, np.zeros(len(roster), bool))

    def form(self, view: View, state: Estimates) -> Coalitions:
        threshold = self.threshold(state)
        known = {"threshold": threshold, "noise": state.noise, "variance": state.variance, "sights": state.sights}
        if self.structure == "game" and np.isfinite(threshold):
            game = ErrorHedonic(threshold, self.stability).form(view, None)
            return replace(game, certificate={**game.certificate, **known})
        labels = np.full(len(view.roster), -1, np.intp)
        labels[view.present] = np.arange(len(view.present)) if self.structure == "alone" else 0
        return Coalitions(labels, certificate=known)

    def threshold(self, state: Estimates) -> float:
        """T̂, in samples where the reading is in samples; NaN before the first sight, or where it could be all noise."""
        doubtful = any(
            doubt > 0 and seen < doubt**0.5 for seen, doubt in zip((state.noise, state.variance), state.doubts, strict=True)
        )
        if not state.sights or doubtful:
            return float("nan")
        return max(state.noise, self.floor) / max(state.variance, self.floor)

    def learn(self, view: View, plan: Plan, replies: Replies, state: Estimates) -> Estimates:
        if view.round < self.from_round or len(replies) < 2:
            return state
        due = np.flatnonzero(~state.told[replies.clients]) if self.observe == "once" else np.arange(len(replies))
        answers = view.ask.reports(replies.clients[due], self.question(view.round), due, among=replies)
        came = due[np.isfinite(answers).all(axis=1)]
        if not len(came):
            return state
        sizes = np.maximum(view.roster["size"][replies.clients[came]].astype(np.float64), 1)
        seen = self._sight(sizes, answers[np.isfinite(answers).all(axis=1)], replies)
        told = state.told.copy()
        told[replies.clients[came]] = True
        keep = self.gamma if state.sights >= self.warmup else state.sights / (state.sights + 1)
        doubts = (keep**2 * old + (1 - keep) ** 2 * new for old, new in zip(state.doubts, self._doubts(sizes), strict=True))
        return Estimates(
            seen.noise if not keep else keep * state.noise + (1 - keep) * seen.noise,
            seen.variance if not keep else keep * state.variance + (1 - keep) * seen.variance,
            (next(doubts), next(doubts)),
            state.sights + 1,
            told,
        )

    def question(self, occasion: int) -> Report:
        """What participants are asked for."""
        gap, spread, loss = (
            ("gap", -self.clip_gap, self.clip_gap),
            ("spread", 0.0, self.clip_spread),
            ("training_loss", 0.0, self.clip_loss),
        )
        if self.variance != "function":
            asked: list[Any] = [loss]
        else:
            asked = [gap, spread] if self.dimension is None else [gap, spread, loss]
        numbers = tuple(Bounded(name, least, most, self.epsilon / len(asked)) for name, least, most in asked)
        return Report(numbers, occasion, self.noise, self.cap)

    def _sight(
        self, sizes: Float[np.ndarray, " members"], answers: Float[np.ndarray, "members numbers"], replies: Replies
    ) -> Sight:
        if self.variance != "function":
            return by_parameters(answers[:, 0], replies.models, self.variance)
        seen = by_function(sizes, answers[:, 0], answers[:, 1])
        if self.dimension is None:
            return seen
        return Sight(self.dimension * float((answers[:, 2] + answers[:, 0]).mean()), seen.variance)

    def _doubts(self, sizes: Float[np.ndarray, " members"]) -> tuple[float, float]:
        """The variances of one sight's μ_e and σ² that come of privacy's noise, which has twice its scale squared itself."""
        noise = {one.number: 2 * one.scale**2 for one in self.question(1).numbers}
        m, loss = len(sizes), noise.get("training_loss", 0.0)
        if self.variance != "function":
            return loss / m, 0.0
        spread = (noise["gap"] + noise["spread"]) / m
        if self.dimension is not None:
            return self.dimension**2 * (loss + noise["gap"]) / m, spread
        return float((sizes**2).sum()) / m**2 * noise["gap"], spread
