"""How a client tunes a model to itself, told from its statistics by two small networks; for FedL2P."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

from coterie.backbones.meta_net import MetaNet, Vector
from coterie.federation import Inputs, Layout

Flat = Float32[np.ndarray, " dim"]
EPSILON = 1e-5
"""What batch normalization adds to variances, as PyTorch does unless it is told otherwise."""
NUDGE = 0.01
"""The length of a step to either side, of which the difference of two slopes is taken."""
MOST = 1000.0
"""The largest factor of a base rate."""


@dataclass(frozen=True)
class MetaNets:
    """Where in λ the two networks and the base rates stand, for models of one layout."""

    layout: Layout
    hidden: int

    @cached_property
    def arrays(self) -> tuple[str, ...]:
        """Arrays of parameters, each with a rate of its own."""
        return tuple(name for name in self.layout.names if name not in self.layout.buffers)

    @cached_property
    def normalized(self) -> tuple[str, ...]:
        """Layers of batch normalization that have a scale and a shift, through which slopes in statistics are found."""
        names, needed = set(self.layout.names), ("running_mean", "running_var", "weight", "bias")
        return tuple(layer for layer in self.layout.layers if all(f"{layer}.{one}" in names for one in needed))

    @cached_property
    def mixing(self) -> MetaNet:
        """BNNet."""
        return MetaNet(len(self.normalized), len(self.normalized), self.hidden)

    @cached_property
    def rating(self) -> MetaNet:
        """LRNet."""
        return MetaNet(2 * len(self.layout.layers), len(self.arrays), self.hidden, MOST, bias=1.0)

    def first(self, rate: float, dice: np.random.Generator) -> Vector:
        """λ to begin with."""
        mixing = self.mixing.first(dice) if self.normalized else np.empty(0)
        return np.concatenate([mixing, self.rating.first(dice), np.full(len(self.arrays), rate)])

    def paces(self, nets: float, rates: float) -> Vector:
        """For each number of λ the rate with which it descends."""
        return np.concatenate([np.full(self._ends[1], nets), np.full(len(self.arrays), rates)])

    def split(self, beside: Vector) -> tuple[Vector, Vector, Vector]:
        """The parameters of BNNet, those of LRNet, and the base rates."""
        first, second = self._ends
        return beside[:first], beside[first:second], beside[second:]

    @property
    def _ends(self) -> tuple[int, int]:
        first = self.mixing.size if self.normalized else 0
        return first, first + self.rating.size


@dataclass(frozen=True, eq=False)
class Client:
    """A model at a client: what its samples look like inside, and what λ makes of that."""

    nets: MetaNets
    model: Flat
    inputs: Mapping[str, Inputs]

    def told(self, beside: Vector) -> tuple[Vector, Vector]:
        """How much of the client's own statistics each normalization takes, and the rate of each array."""
        mixing, rating, base = self.nets.split(beside)
        mix = self.nets.mixing.told(mixing, self.distances) if self.nets.normalized else np.empty(0)
        return mix, np.maximum(self.nets.rating.told(rating, self.spreads) * base, 0)

    def slope(self, beside: Vector, in_mix: Vector, in_rates: Vector) -> Vector:
        """The gradient in λ of what has these gradients in `told`."""
        mixing, rating, base = self.nets.split(beside)
        parts = [self.nets.mixing.slope(mixing, self.distances, in_mix)] if self.nets.normalized else []
        factors = self.nets.rating.told(rating, self.spreads)
        return np.concatenate([*parts, self.nets.rating.slope(rating, self.spreads, in_rates * base), in_rates * factors])

    @cached_property
    def distances(self) -> Vector:
        """ξ: for each normalization how far the client's statistics are from the model's."""
        pairs = [(*self._statistics(layer), *self._own(layer)) for layer in self.nets.normalized]
        return np.array([divergence(mean, variance, own, spread) for mean, variance, own, spread in pairs])

    @cached_property
    def spreads(self) -> Vector:
        """s: mean and standard deviation of what enters each layer."""
        told = [self.inputs.get(layer, Inputs(np.zeros(1), np.zeros(1))) for layer in self.nets.layout.layers]
        return np.array([value for one in told for value in (one.mean.mean(), _spread(one))])

    @cached_property
    def moves(self) -> NDArray[np.bool_]:
        """Which coordinates are parameters."""
        return self.spread(np.ones(len(self.nets.arrays))) > 0

    def mixed(self, mix: Vector) -> Flat:
        """The model with mixed statistics."""
        model = self.model.copy()
        for share, layer in zip(mix, self.nets.normalized, strict=True):
            for name, (there, own) in self._pairs(layer).items():
                model[self.nets.layout.slices[name]] = (1 - share) * there + share * own
        return model

    def spread(self, rates: Vector) -> Flat:
        """The rate of each coordinate; statistics have none."""
        far = np.zeros(len(self.model), np.float32)
        for name, rate in zip(self.nets.arrays, rates, strict=True):
            far[self.nets.layout.slices[name]] = rate
        return far

    def gathered(self, values: Vector) -> Vector:
        """The sum over each array of parameters."""
        return np.array([values[self.nets.layout.slices[name]].sum() for name in self.nets.arrays])

    def in_mix(self, model: Flat, slope: Vector) -> Vector:
        """The gradient in β, from that in a mixed model's scales a and shifts b.

        y = a (x − μ) / s + b with s² = v + ε, so ∂L/∂μ = −(a / s) ∂L/∂b and ∂L/∂v = −(a / 2 s²) ∂L/∂a.
        """
        where, found = self.nets.layout.slices, []
        for layer in self.nets.normalized:
            scale, variance = (model[where[f"{layer}.{name}"]].astype(float) for name in ("weight", "running_var"))
            in_scale, in_shift = (slope[where[f"{layer}.{name}"]] for name in ("weight", "bias"))
            (mean, own_mean), (there, own) = self._pairs(layer).values()
            in_mean = -scale / np.sqrt(variance + EPSILON) * in_shift
            in_variance = -scale / (2 * (variance + EPSILON)) * in_scale
            found.append((in_mean * (own_mean - mean)).sum() + (in_variance * (own - there)).sum())
        return np.array(found)

    def _pairs(self, layer: str) -> dict[str, tuple[Vector, Vector]]:
        """The model's statistics of a layer and the client's, by the name of the array."""
        names = (f"{layer}.running_mean", f"{layer}.running_var")
        return dict(zip(names, zip(self._statistics(layer), self._own(layer), strict=True), strict=True))

    def _statistics(self, layer: str) -> tuple[Vector, Vector]:
        where = self.nets.layout.slices
        mean, variance = (self.model[where[f"{layer}.{name}"]].astype(float) for name in ("running_mean", "running_var"))
        return mean, variance

    def _own(self, layer: str) -> tuple[Vector, Vector]:
        own = self.inputs.get(layer)
        return self._statistics(layer) if own is None else (own.mean, own.variance)


def divergence(mean: Vector, variance: Vector, other: Vector, spread: Vector) -> float:
    """Mean over channels of the symmetric Kullback–Leibler divergence of two normals, half of either direction.

    >>> divergence(np.zeros(2), np.ones(2), np.zeros(2), np.ones(2))
    0.0
    >>> round(divergence(np.zeros(1), np.ones(1), np.ones(1), np.ones(1)), 3)
    0.5
    """
    one, two, apart = variance + EPSILON, spread + EPSILON, np.square(mean - other)
    return float(((one + apart) / two + (two + apart) / one - 2).mean() / 4)


def change(of: Callable[[Flat], NDArray[np.floating]], model: Flat, along: Vector) -> Vector:
    """How a function of models changes along a direction, by a short step to either side of a model.

    >>> change(lambda model: model**2, np.array([1.0, 2.0], np.float32), np.array([0.0, 3.0])).round(2).tolist()
    [0.0, 12.0]
    """
    length = float(np.linalg.norm(along))
    if not 0 < length < np.inf:
        return np.zeros_like(np.asarray(of(model), dtype=float)) + (length if length else 0.0)
    step = (along * (NUDGE / length)).astype(np.float32)
    ahead, behind = (np.asarray(of(model + sign * step), dtype=float) for sign in (np.float32(1), np.float32(-1)))
    return np.asarray((ahead - behind) * (length / (2 * NUDGE)))


def _spread(one: Inputs) -> float:
    """The standard deviation over all channels together."""
    return float(np.sqrt(one.variance.mean() + one.mean.var() + EPSILON))
