"""Clients learn together how each should tune the model to itself: FedL2P (Lee et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float32, Int
from numpy.typing import NDArray

from coterie import seeds
from coterie.backbones.meta_net import Vector
from coterie.backbones.sgd import SGD
from coterie.backbones.strategies import Client, MetaNets, change
from coterie.federation import Layout, Local, OwnSamples
from coterie.rules import Backbone, Trained

Flat = Float32[np.ndarray, " dim"]
Rows = Int[np.ndarray, " some"]


@dataclass(frozen=True)
class FedL2P(Backbone):
    """Shares two small networks that tell each client how far to tune each layer, and how to mix statistics (Lee et al., 2023).

    In the first `pretrain` rounds the `inner` backbone trains the model, as FedAvg does. From then on the model stands
    still, and what is trained, shared and averaged is λ: BNNet, LRNet, and one base rate for each array of parameters.

    1. A client passes its samples through the model. ξ says, for each layer of batch normalization, how far the
       client's statistics are from the model's (the mean over channels of the symmetric Kullback–Leibler divergence of
       two normals); s are mean and spread of what enters each layer.
    2. β = BNNet(ξ), in [0, 1], one a layer of normalization: its statistics become (1 − β) · model's + β · client's.
    3. η = LRNet(s) · base rates, one an array: the client descends for `epochs` from the model, with these rates. This
       is the model that it uses.
    4. λ descends on the loss of that model on samples that were not trained on. The gradient in λ is implicit: by the
       fixed point θ = θ − η ∇L(θ, β) and a Neumann series,
       p = Σ_q (I − H η)^q ∂V/∂θ, dV/dη = −p ∇L, dV/dβ = ∂V/∂β − ∂(η p · ∇L)/∂β.

    From the authors' code, since the paper leaves it open: hidden layers of 100, first weights and biases, clamps with a
    straight-through slope, one validation sample in five, three terms of the series, slopes clipped to `clip`.

    Where we differ: a client's statistics are those of all its samples under the received model, in training and in
    use, where the code normalizes by mini-batches while it trains. The authors' code takes the implicit gradient of the
    rates through the gradient of the last step, which for a quadratic loss has the opposite sign of what one more step
    shows; ours differentiates the step itself. Products with H are differences of two gradients. Rates below 0 count
    as 0. The series uses one mini-batch of training and one of validation samples a meta-step, and a meta-step that
    meets anything infinite is left out. In a model without batch normalization only rates are learned. The paper takes
    a model that others trained; here `pretrain` rounds train it.
    """

    pretrain: int = 50
    """Rounds in which the model itself is trained; 0 where it is trained already."""
    epochs: int = 15
    """Epochs over which a client tunes the model to itself."""
    meta_epochs: int = 3
    """How often a client's validation samples are passed for λ in a round."""
    batch_size: int = 32
    """Samples in a mini-batch, of either kind."""
    rate: float = 0.001
    """The base rates at first; LRNet's factors are about 1 then."""
    meta_rate: float = 0.001
    """With which rate BNNet and LRNet descend."""
    base_rate: float = 0.0001
    """With which rate the base rates descend."""
    validation: float = 0.2
    """The share of samples that λ is judged on."""
    terms: int = 3
    """Terms of the Neumann series behind the first."""
    hidden: int = 100
    """Units in each of the two hidden layers of a network."""
    clip: float = 1.0
    """The largest slope in any number of λ."""
    inner: Backbone = SGD()
    """How the model is trained before."""

    def __post_init__(self) -> None:
        for name, allowed, good in [
            *((name, "a whole number from 0", getattr(self, name) >= 0) for name in ("pretrain", "terms")),
            *((name, "a whole number from 1", getattr(self, name) >= 1) for name in ("epochs", "meta_epochs", "batch_size")),
            ("hidden", "a whole number from 1", self.hidden >= 1),
            *((name, "a finite number above 0", 0 < getattr(self, name) < np.inf) for name in ("rate", "meta_rate", "clip")),
            ("base_rate", "a finite number from 0", 0 <= self.base_rate < np.inf),
            ("validation", "in (0, 1)", 0 < self.validation < 1),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")

    def beside(self, layout: Layout, seed: int) -> NDArray[np.float32]:
        return MetaNets(layout, self.hidden).first(self.rate, seeds.rng(seed, "meta-nets")).astype(np.float32)

    def train(self, local: Local) -> Trained:
        size = local.layout.size
        model, beside = np.array(local.model[:size]), local.model[size:]
        if local.round <= self.pretrain:
            trained = self.inner.train(replace(local, model=model))
            return replace(trained, share=np.concatenate([trained.share, beside]))
        client = Client(MetaNets(local.layout, self.hidden), model, local.samples.inputs(model))
        personal = self._tuned(local, client, beside.astype(float), np.arange(len(local.samples)))
        learned = self._learned(local, client, beside.astype(float))
        losses = local.samples.losses(personal)
        return Trained(
            np.concatenate([model, learned.astype(np.float32)]),
            facts={"loss": float(losses.mean()), "loss_rms": float(np.sqrt(np.square(losses).mean()))},
            personal=personal,
        )

    def _tuned(self, local: Local, client: Client, beside: Vector, rows: Rows) -> Flat:
        """Steps 2 and 3: the model after the client's own steps, or only mixed where these lead nowhere."""
        mix, rates = client.told(beside)
        start, far = client.mixed(mix), client.spread(rates)
        model = start.copy()
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(self.epochs):
                for few in self._batches(local.dice, rows):
                    model -= far * local.samples.gradient(model, few)
        return model if np.isfinite(model).all() else start

    def _learned(self, local: Local, client: Client, beside: Vector) -> Vector:
        """Step 4: λ after the client's own steps on it."""
        order = local.dice.permutation(len(local.samples))
        held = max(min(round(self.validation * len(order)), len(order) - 1), 1)
        judges, rows = order[:held], order[held:] if len(order) > 1 else order
        paces = client.nets.paces(self.meta_rate, self.base_rate)
        for _ in range(self.meta_epochs):
            for few in self._batches(local.dice, judges):
                model = self._tuned(local, client, beside, rows)
                some = local.dice.choice(rows, min(self.batch_size, len(rows)), replace=False)
                slope = self._slope(local.samples, client, beside, model, some, few)
                if np.isfinite(slope).all():
                    beside = beside - paces * np.clip(slope, -self.clip, self.clip)
        return beside

    def _slope(self, samples: OwnSamples, client: Client, beside: Vector, model: Flat, some: Rows, judges: Rows) -> Vector:
        """The implicit gradient in λ of the loss on the judging samples."""

        def trained(at: Flat) -> Vector:
            return samples.gradient(at, some).astype(float)

        far = client.spread(client.told(beside)[1]).astype(float)
        judged = samples.gradient(model, judges).astype(float)
        with np.errstate(over="ignore", invalid="ignore"):
            ahead = total = judged * client.moves
            for _ in range(self.terms):
                ahead = ahead - change(trained, model, far * ahead) * client.moves
                total = total + ahead
            bent = change(lambda at: client.in_mix(at, trained(at)), model, far * total)
            in_rates = client.gathered(-total * trained(model))
            return client.slope(beside, client.in_mix(model, judged) - bent, in_rates)

    def _batches(self, dice: np.random.Generator, rows: Rows) -> list[Rows]:
        order = dice.permutation(rows)
        return [order[at : at + self.batch_size] for at in range(0, len(order), self.batch_size)]
