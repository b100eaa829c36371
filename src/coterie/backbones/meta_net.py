"""Small networks that tell hyper-parameters from statistics, in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

Vector = Float[np.ndarray, " values"]


@dataclass(frozen=True)
class MetaNet:
    """Two hidden layers with ReLU; outputs are clamped to 0 … `most`, and the slope passes the clamp as if it were not there.

    >>> net = MetaNet(inputs=2, outputs=3, hidden=4, bias=0.5)
    >>> net.told(net.first(np.random.default_rng(0)), np.zeros(2)).round(1).tolist()
    [0.4, 0.4, 0.7]
    """

    inputs: int
    outputs: int
    hidden: int = 100
    most: float = 1.0
    bias: float = 0.5
    """What every bias is at first."""
    gain: float = 0.1
    """How large weights are at first, in units of Glorot's normal ones."""

    @property
    def size(self) -> int:
        """The number of its parameters."""
        return sum((before + 1) * after for before, after in pairwise(self._widths))

    def first(self, dice: np.random.Generator) -> Vector:
        """Parameters to begin with."""
        parts: list[NDArray[np.float64]] = []
        for before, after in pairwise(self._widths):
            spread = self.gain * np.sqrt(2 / (before + after))
            parts += [spread * dice.standard_normal(before * after), np.full(after, self.bias)]
        return np.concatenate(parts)

    def told(self, parameters: Vector, given: Vector) -> Vector:
        """The outputs."""
        return np.asarray(np.clip(self._passed(parameters, given)[-1], 0, self.most))

    def slope(self, parameters: Vector, given: Vector, outward: Vector) -> Vector:
        """The gradient in its parameters of what has the gradient `outward` in its outputs."""
        values, layers = self._passed(parameters, given), list(self._layers(parameters))
        parts: list[NDArray[np.float64]] = []
        for (matrix, _), value in zip(reversed(layers), reversed(values[:-1]), strict=True):
            parts = [np.outer(outward, value).ravel(), outward, *parts]
            outward = (matrix.T @ outward) * (value > 0)
        return np.concatenate(parts)

    @property
    def _widths(self) -> tuple[int, ...]:
        return (self.inputs, self.hidden, self.hidden, self.outputs)

    def _layers(self, parameters: Vector) -> Iterator[tuple[Float[np.ndarray, "after before"], Vector]]:
        at = 0
        for before, after in pairwise(self._widths):
            end = at + before * after
            yield parameters[at:end].reshape(after, before), parameters[end : end + after]
            at = end + after

    def _passed(self, parameters: Vector, given: Vector) -> list[Vector]:
        """What enters each layer, and what leaves the last."""
        values = [given]
        for number, (matrix, bias) in enumerate(self._layers(parameters)):
            raw = matrix @ values[-1] + bias
            values.append(raw if number == len(self._widths) - 2 else np.maximum(raw, 0))
        return values
