"""Who is valued by its loss is drawn more often: active federated learning (Goetz et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coterie.federation import View
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.roster import Ids, Roster
from coterie.rules import Selector
from coterie.selectors.draw import draw, draw_exp

Losses = NDArray[np.float64]


@dataclass(frozen=True)
class ActiveFL(Selector):
    """Trains clients drawn with odds that grow with their last known loss (Goetz et al., 2019).

    A client's value is v_k = (Σ of its losses) / √n_k = √n_k · (its mean loss), with the loss of the model that it last
    received to train. Each round: the ⌊α₁K⌋ clients with the lowest value are out; ⌊(1−α₃)m⌋ are drawn one by one with
    odds exp(α₂ v_k); the rest is drawn uniformly from everyone not yet drawn, those who were out included.

    The losses are the hold-out's. Where the source is silent: K counts those present; who ties with the lowest value that
    is in is in too; who gave no loss has the lowest value; where the draw by value has too few clients, the uniform one
    makes up for them. Public descriptions leave
    open whether the loss in v_k is summed or averaged, and how a client is valued that never trained: both readings
    are parameters, and the defaults are those of FedCor's authors.
    """

    per_round: int
    """m, how many train in a round."""
    alpha1: float = 0.75
    """α₁, the share of clients, those with the lowest value, that are out."""
    alpha2: float = 0.01
    """α₂, how much the odds follow the value; 0 for not at all."""
    alpha3: float = 0.1
    """α₃, the share of the round that is drawn uniformly."""
    loss: Literal["sum", "mean"] = "sum"
    """Which loss is divided by √n_k: the sum over the client's samples, or their mean."""
    initial: Literal["ask", "optimistic"] = "ask"
    """The value of one who never trained: its loss, asked for when it is first seen; or ∞, which asks nobody."""
    wants = frozenset({"loss_before"})

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("per_round", "a whole number from 1", self.per_round >= 1),
            ("alpha1", "in [0, 1)", 0 <= self.alpha1 < 1),
            ("alpha2", "a finite number from 0", 0 <= self.alpha2 < np.inf),
            ("alpha3", "in [0, 1]", 0 <= self.alpha3 <= 1),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")

    def begin(self, roster: Roster) -> Losses:
        return np.full(len(roster), np.inf if self.initial == "optimistic" else np.nan)

    def choose(self, view: View, state: Losses) -> Ids:
        losses = state[view.present]
        unknown = np.isnan(losses)
        if unknown.any():
            losses[unknown] = view.ask.losses(view.present[unknown])
        values = self.values(losses, view.roster["size"][view.present])
        logits = self.logits(values)
        view.note(view.present, loss=losses, value=values)
        able = logits > -np.inf
        by_value = draw_exp(view.rng, view.present[able], whole((1 - self.alpha3) * self.per_round), logits[able])
        rest = np.setdiff1d(view.present, by_value)
        return np.sort(np.concatenate([by_value, draw(view.rng, rest, self.per_round - len(by_value))]))

    def values(self, losses: Losses, size: NDArray[np.int64]) -> Losses:
        """v_k, −∞ where nobody knows the loss."""
        root = np.sqrt(np.maximum(size, 1))
        return np.where(np.isnan(losses), -np.inf, losses * root if self.loss == "sum" else losses / root)

    def logits(self, values: Losses) -> Losses:
        """α₂ v_k, and −∞ for those who are out."""
        out = whole(self.alpha1 * len(values))
        edge = np.partition(values, out)[out] if len(values) else 0.0
        with np.errstate(invalid="ignore"):
            logits = np.where(np.isinf(values), values, self.alpha2 * values)
        return np.where(values < edge, -np.inf, logits)

    def learn(self, view: View, plan: Plan, replies: Replies, state: Losses) -> Losses:
        losses = state.copy()
        asked = plan.why.column("loss", len(view.roster))
        fresh = np.isnan(losses)
        losses[fresh] = asked[fresh]
        if "loss_before" in replies.facts:
            losses[replies.clients] = replies.facts["loss_before"]
        return losses


def whole(number: float) -> int:
    """The whole part, forgiving a rounding error: 0.29 × 100 is 29.

    >>> int(0.29 * 100), whole(0.29 * 100)
    (28, 29)
    """
    return int(number + 1e-9)
