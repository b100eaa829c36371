"""A few more epochs at home before the model is used: FedAvg with fine-tuning (Cheng, Chadha and Duchi, 2021)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from coterie.backbones.sgd import SGD
from coterie.federation import Local, Steps
from coterie.rules import Backbone, Trained


@dataclass(frozen=True)
class FineTune(Backbone):
    """Shares what another backbone trains, and uses at home the received model after a few epochs on its own data.

    The client's own model starts from the one it received, not from what it shares, so that it is what a client would
    have that only takes part in testing (Cheng, Chadha and Duchi, 2021).
    """

    inner: Backbone = SGD()
    """How the shared model is trained."""
    tune: Steps = Steps(epochs=1)
    """The steps from the received model to the client's own."""
    head_only: bool = False
    """Tunes only the last layer."""

    def train(self, local: Local) -> Trained:
        own = local.descend(local.model, self.tune, only=local.layout.head if self.head_only else None)
        return replace(self.inner.train(local), personal=own.model)
