"""The worst-served of a few: power-of-choice (Cho, Wang and Joshi, 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coterie.federation import Split, View
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.roster import Ids, Roster
from coterie.rules import Selector
from coterie.selectors.draw import draw

Losses = NDArray[np.float64]


@dataclass(frozen=True)
class PowerOfChoice(Selector):
    """Trains those with the highest loss among a few drawn at random (Cho, Wang and Joshi, 2020).

    1. Draws d candidates without replacement, in proportion to their samples.
    2. Learns the loss of each: `pow-d` asks for the mean over all its samples, `cpow-d` for the mean over one random
       mini-batch, `rpow-d` asks nobody and takes the mean over the steps of its last training, ∞ before the first.
    3. The m highest train. Ties fall to the one drawn first, so at random.

    Where the source is silent: a candidate that gives no answer is not chosen. The paper's loss is over the training
    samples; here it is over the hold-out by default, as in the comparison of FedCor's authors. With d = m the losses
    decide nothing and the choice is random by size.
    """

    per_round: int
    """m, how many train in a round."""
    candidates: int | None = None
    """d, how many are drawn and looked at; twice `per_round` if not given."""
    variant: Literal["pow-d", "cpow-d", "rpow-d"] = "pow-d"
    """What the loss is taken over: all samples, a mini-batch, or the steps of the last training."""
    split: Split = "holdout"
    """Which of their samples candidates are asked about."""
    batch_size: int = 64
    """The mini-batch of `cpow-d`."""

    def __post_init__(self) -> None:
        if self.per_round < 1:
            raise ValueError(f"per_round: must be a whole number from 1, not {self.per_round!r}")
        if self.candidates is not None and self.candidates < self.per_round:
            raise ValueError(f"candidates: must be at least per_round ({self.per_round}), not {self.candidates!r}")
        if self.batch_size < 1:
            raise ValueError(f"batch_size: must be a whole number from 1, not {self.batch_size!r}")

    def begin(self, roster: Roster) -> Losses | None:
        return np.full(len(roster), np.inf) if self.variant == "rpow-d" else None

    def choose(self, view: View, state: Losses | None) -> Ids:
        count = 2 * self.per_round if self.candidates is None else self.candidates
        few = draw(view.rng, view.present, count, view.roster.share(view.present))
        losses = self._losses(view, few, state)
        view.note(few, loss=losses)
        few, losses = few[~np.isnan(losses)], losses[~np.isnan(losses)]
        return np.sort(few[np.argsort(-losses, kind="stable")[: self.per_round]])

    def _losses(self, view: View, few: Ids, state: Losses | None) -> Losses:
        if state is not None:
            return state[few]
        batch = self.batch_size if self.variant == "cpow-d" else None
        return view.ask.losses(few, split=self.split, batch=batch)

    def learn(self, view: View, plan: Plan, replies: Replies, state: Losses | None) -> Losses | None:
        if state is None or "loss" not in replies.facts:
            return state
        losses = state.copy()
        losses[replies.clients] = replies.facts["loss"]
        return losses
