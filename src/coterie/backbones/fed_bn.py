"""Normalization stays at home: FedBN (Li et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from coterie.backbones.sgd import SGD
from coterie.federation import Layout, Local
from coterie.rules import Backbone, Trained

DRAWER = "normalization"
"""Under which name the client's own coordinates are kept."""


@dataclass(frozen=True)
class FedBN(Backbone):
    """Shares all but batch normalization, whose scales, shifts and statistics are each client's own (Li et al., 2021).

    A client trains the received model with its own normalization in place, keeps what became of the latter, and shares
    the rest. In a model without batch normalization everything is shared.

    Where the source is silent: models are of one size here, so in place of its own a client sends the normalization that
    it received, and the meter counts it. The global model thus keeps the normalization of the first round, and its
    accuracy means little. The model that the client would use ("personal") is the one that its last training ended in;
    the paper tests what clients have after averaging, which is the same but for the last epochs.
    """

    inner: Backbone = SGD()
    """How the model is trained."""

    def train(self, local: Local) -> Trained:
        own = normalization(local.layout)
        start = np.array(local.model)
        kept = dict(local.kept)
        if DRAWER in kept:
            start[own] = kept.pop(DRAWER)
        trained = self.inner.train(replace(local, model=start, kept=kept))
        used = trained.share if trained.personal is None else trained.personal
        shared = np.where(own, local.model, trained.share)
        return replace(trained, share=shared, personal=used, keep={**trained.keep, DRAWER: trained.share[own]})


def normalization(layout: Layout) -> NDArray[np.bool_]:
    """Which coordinates belong to batch normalization: all arrays of a layer that has running statistics.

    >>> names = ("0.weight", "1.weight", "1.bias", "1.running_mean")
    >>> bn = Layout(names, ((2, 1), (2,), (2,), (2,)), frozenset({"1.running_mean"}))
    >>> normalization(bn).astype(int).tolist()
    [0, 0, 1, 1, 1, 1, 1, 1]
    """
    layers = {name.rpartition(".")[0] for name in layout.buffers}
    mask = np.zeros(layout.size, dtype=bool)
    for name, where in layout.slices.items():
        mask[where] = name.rpartition(".")[0] in layers
    return mask
