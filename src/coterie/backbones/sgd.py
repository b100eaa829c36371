"""Plain mini-batch descent."""

from __future__ import annotations

from dataclasses import dataclass

from coterie.federation import Local, Steps
from coterie.rules import Backbone, Trained


@dataclass(frozen=True)
class SGD(Backbone):
    """Stochastic gradient descent from the model received, all of which is shared (McMahan et al., 2017)."""

    steps: Steps = Steps()
    """How far and how fast a client descends."""

    def train(self, local: Local) -> Trained:
        end = local.descend(local.model, self.steps)
        return Trained(end.model, facts={"loss": end.loss, "loss_rms": end.loss_rms})
