"""The server walks on from its model by what replies bring: momentum, Adagrad, Adam or Yogi on the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

from coterie.aggregators.by_size import BySize
from coterie.federation import View
from coterie.mixing import Merge
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.roster import Roster
from coterie.rules import Aggregator

How = Literal["momentum", "adagrad", "adam", "yogi"]
Rows = Float32[np.ndarray, "rows dim"]
BY_SIZE = BySize()


@dataclass(frozen=True)
class ServerSteps(Aggregator):
    """Takes the averaged update for a gradient and descends on the server (Hsu et al., 2019; Reddi et al., 2021).

    With Δ the average of the replies, by another rule, minus the model before:

    - momentum: m ← β₁ m + Δ, and x ← x + lr m (FedAvgM of Hsu, Qi and Brown; β₁ = 0 and lr = 1 is that other rule);
    - the others: m ← β₁ m + (1 − β₁) Δ, and x ← x + lr m / (√v + τ) (Algorithm 2 of Reddi et al.) with
      v ← v + Δ² for adagrad, v ← v − (1 − β₂) Δ² sign(v − Δ²) for yogi, v ← β₂ v + (1 − β₂) Δ² for adam.

    v begins at τ², the least that the source allows, and nothing corrects for the beginning, as in the source. The source
    averages all replies alike; here `inner` decides, and by default samples count, as in the source's experiments.

    Where the source is silent: a round that brings too few replies moves nothing and m and v stay as they are. Each model
    has its own m and v, which follow it where coalitions take it over. Where there is no server (by the route 'peers') the
    other rule decides alone. For coalitions whose models are averaged into one, this belongs into `across`.
    """

    how: How = "momentum"
    """The rule of descent."""
    lr: float = 1.0
    """η, the server's learning rate; for all but momentum about 0.01, since every coordinate then moves that far."""
    momentum: float = 0.9
    """β₁."""
    decay: float = 0.99
    """β₂, of adam and yogi."""
    tau: float = 1e-3
    """τ, how much the step adapts: the smaller the more."""
    inner: Aggregator = BY_SIZE
    """How replies are averaged before the step."""

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("how", "momentum, adagrad, adam or yogi", self.how in ("momentum", "adagrad", "adam", "yogi")),
            ("lr", "a finite number above 0", 0 < self.lr < np.inf),
            ("momentum", "in [0, 1)", 0 <= self.momentum < 1),
            ("decay", "in [0, 1)", 0 <= self.decay < 1),
            ("tau", "a finite number above 0", 0 < self.tau < np.inf),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")

    @property
    def wants(self) -> frozenset[str]:  # type: ignore[override]  # those of the other rule
        """The facts that the other rule needs."""
        return self.inner.wants

    def begin(self, roster: Roster) -> dict[str, Any]:
        none = np.empty((0, 0), np.float32)
        return {"inner": self.inner.begin(roster), "m": none, "v": none}

    def weigh(self, view: View, plan: Plan, replies: Replies, state: Any) -> Merge:
        merge = self.inner.weigh(view, plan, replies, state["inner"])
        if plan.route == "peers":
            return merge
        return Stepped(self, merge, heard(plan, replies), *self._moments(plan, replies, state))

    def learn(self, view: View, plan: Plan, replies: Replies, state: Any) -> dict[str, Any]:
        learned = {**state, "inner": self.inner.learn(view, plan, replies, state["inner"])}
        if plan.route == "peers":
            return learned
        m, v = self._moments(plan, replies, state)
        if len(replies) >= max(plan.min_replies, 1):
            merge, kept = self.inner.weigh(view, plan, replies, state["inner"]), view.models[plan.keeps]
            moving = heard(plan, replies)[:, np.newaxis]
            newer = self.moments(merge.apply(replies.models, kept) - kept, m, v)
            m, v = np.where(moving, newer[0], m), np.where(moving, newer[1], v)
        return {**learned, "m": m, "v": v}

    def moments(self, delta: Rows, m: Rows, v: Rows) -> tuple[Rows, Rows]:
        """The moments m and v after an update."""
        beta, decay = np.float32(self.momentum), np.float32(self.decay)
        if self.how == "momentum":
            return beta * m + delta, v
        square = delta * delta
        match self.how:
            case "adagrad":
                v = v + square
            case "yogi":
                v = v - (1 - decay) * square * np.sign(v - square)
            case _:
                v = decay * v + (1 - decay) * square
        return beta * m + (1 - beta) * delta, v

    def step(self, m: Rows, v: Rows) -> Rows:
        """How far a model goes."""
        lr = np.float32(self.lr)
        return lr * m if self.how == "momentum" else lr * m / (np.sqrt(v) + np.float32(self.tau))

    def _moments(self, plan: Plan, replies: Replies, state: Any) -> tuple[Rows, Rows]:
        """The moments of the models from which tomorrow's go on."""
        if len(state["m"]):
            return state["m"][plan.keeps], state["v"][plan.keeps]
        m = np.zeros((len(plan.keeps), replies.models.shape[1]), np.float32)
        return m, np.full_like(m, self.tau**2)


@dataclass(frozen=True, eq=False)
class Stepped(Merge):
    """A step of the server towards what another map makes."""

    rule: ServerSteps
    inner: Merge
    moving: NDArray[np.bool_]
    """One flag a target: the others keep the model that they had."""
    m: Rows
    v: Rows

    def apply(
        self, models: Float32[np.ndarray, "replies dim"], kept: Float32[np.ndarray, "targets dim"]
    ) -> Float32[np.ndarray, "targets dim"]:
        m, v = self.rule.moments(self.inner.apply(models, kept) - kept, self.m, self.v)
        return np.where(self.moving[:, np.newaxis], kept + self.rule.step(m, v), kept).astype(np.float32)

    def uses(self) -> NDArray[np.bool_]:
        return self.inner.uses()

    def check(self, plan: Plan, replies: Replies) -> None:
        self.inner.check(plan, replies)


def heard(plan: Plan, replies: Replies) -> NDArray[np.bool_]:
    """Which of tomorrow's models hear any reply."""
    return np.asarray(np.diff(plan.support(replies.clients).indptr) > 0)
