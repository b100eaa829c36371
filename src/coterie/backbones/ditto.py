"""A personal model beside the shared one: Ditto (Li et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from coterie.backbones.sgd import SGD
from coterie.federation import Local, Steps
from coterie.rules import Backbone, Trained


@dataclass(frozen=True)
class Ditto(Backbone):
    """Shares what another backbone trains, and trains at home a model of its own, pulled to the one received (Li et al., 2021).

    v ← v − η (∇F(v) + λ (v − w)), where w is the model received; v is kept from round to round and never leaves.
    """

    pull: float = 1.0
    """λ; 0 is learning alone, high values are the shared model."""
    inner: Backbone = SGD()
    """How the shared model is trained."""
    steps: Steps = Steps()
    """How far and how fast one's own model goes."""

    def __post_init__(self) -> None:
        if not 0 <= self.pull < float("inf"):
            raise ValueError(f"pull: must be a finite number from 0, not {self.pull!r}")

    def train(self, local: Local) -> Trained:
        own = local.descend(local.kept.get("own", local.model), self.steps, toward=local.model, pull=self.pull).model
        shared = self.inner.train(local)
        return replace(shared, keep={**shared.keep, "own": own}, personal=own)
