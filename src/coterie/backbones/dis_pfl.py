"""Sparse personal models: Dis-PFL (Dai et al., 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi

import numpy as np
from jaxtyping import Bool, Float32
from numpy.typing import NDArray

from coterie.federation import Layout, Local, Steps
from coterie.rules import Backbone, Trained

ALL = 10**9
"""A mini-batch of all samples."""
Flat = Float32[np.ndarray, " dim"]
Mask = Bool[np.ndarray, " dim"]


@dataclass(frozen=True)
class DisPfl(Backbone):
    """Trains and shares only the weights under a mask of the client's own, which changes slowly (Dai et al., 2022).

    1. The model received is cut to the mask, then trained under it.
    2. In each layer the smallest weights are dropped, a share of (anneal / 2) (1 + cos(π t / rounds)) of those in use.
    3. As many weights come back where the gradient is largest; they start at zero.

    Layers are the denser the smaller they are (Erdős–Rényi kernels); biases and running statistics are never cut. The
    masks of those heard show in their zeros: `aggregators.MaskedMean` averages each coordinate over who uses it.

    Where we differ: the source draws the first mask at random; here a client's first round is dense, and its largest
    weights make the mask. The gradient is taken on all training samples, as the difference of one plain step.
    """

    density: float = 0.5
    """The share of weights in use."""
    anneal: float = 0.5
    """How many of them are exchanged, at most."""
    rounds: int = 500
    """When exchanging ends."""
    steps: Steps = Steps()
    """How far and how fast a client descends."""

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("density", "in (0, 1]", 0 < self.density <= 1),
            ("anneal", "in [0, 1]", 0 <= self.anneal <= 1),
            ("rounds", "a whole number from 1", self.rounds >= 1),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")

    def train(self, local: Local) -> Trained:
        shares = densities(local.layout, self.density)
        if "mask" not in local.kept:
            end = local.descend(local.model, self.steps)
            mask = largest(end.model, local.layout, shares)
        else:
            old = local.kept["mask"] > 0
            end = local.descend(np.where(old, local.model, np.float32(0)), self.steps, only=old)
            mask = self._exchanged(local, end.model, old, shares)
        model = np.where(mask, end.model, np.float32(0))
        facts = {"loss": end.loss, "loss_rms": end.loss_rms}
        return Trained(model, keep={"mask": mask.astype(np.float32)}, facts=facts, personal=model)

    def _exchanged(self, local: Local, model: Flat, old: Mask, shares: dict[str, float]) -> Mask:
        step = Steps(epochs=1, batch_size=ALL, lr=1.0)
        gradient = np.abs(local.descend(model, step).model - model)
        rate = self.anneal / 2 * (1 + cos(pi * min(local.round / self.rounds, 1.0)))
        mask = old.copy()
        for name in shares:
            where = local.layout.slices[name]
            mask[where] = exchanged(model[where], gradient[where], old[where], rate)
        return mask


def densities(layout: Layout, density: float) -> dict[str, float]:
    """The share in use of each layer's weights: in proportion to (Σ shape) / (Π shape), none above 1, `density` over all.

    >>> layout = Layout(("0.weight", "0.bias", "1.weight"), ((10, 10), (10,), (2, 2)))
    >>> densities(layout, 0.5)
    {'0.weight': 0.48, '1.weight': 1.0}
    """
    shapes = {name: shape for name, shape in zip(layout.names, layout.shapes, strict=True) if len(shape) > 1}
    size = {name: float(np.prod(shape)) for name, shape in shapes.items()}
    raw = {name: sum(shape) / size[name] for name, shape in shapes.items()}
    full: set[str] = set()
    while True:
        rest = [name for name in shapes if name not in full]
        room = density * sum(size.values()) - sum(size[name] for name in full)
        scale = room / max(sum(raw[name] * size[name] for name in rest), 1e-300)
        over = {name for name in rest if raw[name] * scale > 1}
        if not over:
            return {name: 1.0 if name in full else max(raw[name] * scale, 0.0) for name in shapes}
        full |= over


def largest(model: Flat, layout: Layout, shares: dict[str, float]) -> NDArray[np.bool_]:
    """The mask that keeps each layer's largest weights, and all that is no layer's weight."""
    mask = np.ones(layout.size, dtype=bool)
    for name, share in shares.items():
        where = layout.slices[name]
        count = max(round(share * (where.stop - where.start)), 1)
        kept = np.argsort(-np.abs(model[where]), kind="stable")[:count]
        mask[where] = np.isin(np.arange(where.stop - where.start), kept)
    return mask


def exchanged(weights: Flat, gradient: Flat, used: Bool[np.ndarray, " size"], rate: float) -> NDArray[np.bool_]:
    """Drops the smallest weights in use, ⌈rate · how many⌉, and takes as many others with the largest gradients.

    >>> used = np.array([True, True, False, False])
    >>> exchanged(np.array([3, 1, 0, 0]), np.array([0, 0, 1, 2]), used, 0.5).tolist()
    [True, False, False, True]
    """
    count = min(int(np.ceil(rate * used.sum())), int((~used).sum()))
    dropped = np.argsort(np.where(used, np.abs(weights), np.inf), kind="stable")[:count]
    grown = np.argsort(np.where(used, np.inf, -gradient), kind="stable")[:count]
    mask = used.copy()
    mask[dropped], mask[grown] = False, True
    return mask
