"""Descent on a leash: FedProx (Li et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass

from coterie.federation import Local, Steps
from coterie.rules import Backbone, Trained


@dataclass(frozen=True)
class Prox(Backbone):
    """Descent that is pulled back to the model received, so that clients drift less apart (Li et al., 2020).

    The local objective is the client's loss + (μ/2)‖w − w_received‖². The paper lets slow devices take fewer steps;
    here all take the same.
    """

    mu: float = 0.01
    """μ, the strength of the pull; 0 is plain descent."""
    steps: Steps = Steps()
    """How far and how fast a client descends."""

    def __post_init__(self) -> None:
        if not 0 <= self.mu < float("inf"):
            raise ValueError(f"mu: must be a finite number from 0, not {self.mu!r}")

    def train(self, local: Local) -> Trained:
        end = local.descend(local.model, self.steps, toward=local.model, pull=self.mu)
        return Trained(end.model, facts={"loss": end.loss, "loss_rms": end.loss_rms})
