"""The last layer first, then all below it: how AFIND+ trains personal heads (its Algorithm 1), and FedRep before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.federation import Local, Steps
from coterie.rules import Backbone, Trained


@dataclass(frozen=True)
class HeadFirst(Backbone):
    """Trains the last layer first, then all below it while that stands still (FedRep: Collins et al., 2021).

    Made for clients whose last layers are their own (`own = "head"` where there is no server): AFIND+'s β for K_β steps, then
    its w for K_w. With a server, or where whole models are mixed, it is only another order of descending.
    """

    head: Steps = Steps(epochs=1)
    """How far and how fast the last layer goes: K_β."""
    steps: Steps = Steps()
    """The same for all below it: K_w."""

    def train(self, local: Local) -> Trained:
        below = np.ones(local.layout.size, dtype=bool)
        below[local.layout.head] = False
        first = local.descend(local.model, self.head, only=local.layout.head)
        end = local.descend(first.model, self.steps, only=below) if below.any() else first
        return Trained(end.model, facts={"loss": end.loss, "loss_rms": end.loss_rms})
