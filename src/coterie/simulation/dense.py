"""The path for dense chains, forward and backward written by hand.

Around matrix products this small autograd costs more than the products. Everything is written into scratch
arrays that live as long as the path, and one mini-batch is some thirty calls of NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float32, Int
from numpy.typing import NDArray

from coterie.federation import Descent, Steps
from coterie.simulation.chain import Chain, Flat, Weights
from coterie.simulation.flat import Build, flatten, layout_of, seeded
from coterie.simulation.path import Path, batches, ended

Matrix = Float32[np.ndarray, "rows columns"]
Vector = Float32[np.ndarray, " samples"]

CHUNK = 500
"""Samples that go through a chain at once where nothing is trained."""
ZERO = np.float32(0)


class DensePath(Path):
    """Runs a dense chain with softmax cross-entropy, or with squared error (the mean over the outputs)."""

    def __init__(self, build: Build, chain: Chain, classify: bool) -> None:
        self.build, self.chain, self.classify = build, chain, classify
        self.layout = layout_of(seeded(build, 0))
        self.weights, self.slope = Weights(chain), Weights(chain)
        self.desks: dict[int, Desk] = {}

    def initial(self, seed: int) -> Flat:
        return flatten(seeded(self.build, seed))

    def descend(
        self,
        start: Flat,
        x: Float32[np.ndarray, "samples ..."],
        y: NDArray[np.generic],
        order: Int[np.ndarray, "epochs samples"],
        steps: Steps,
        rate: float,
        *,
        toward: Flat | None = None,
        pull: float = 0.0,
        only: NDArray[np.bool_] | None = None,
        seed: int = 0,
    ) -> Descent:
        rows, seen = x.reshape(len(x), -1), []
        self.weights.load(start)
        change = Change(self.chain, steps, rate, toward, pull, only)
        dice = np.random.Generator(np.random.SFC64(seed)) if any(self.chain.dropout) else None
        for batch in batches(order, steps):
            desk = self._desk(len(batch))
            taken = rows.take(batch, axis=0, out=desk.inputs, mode="clip")
            self._forward(desk, taken, dice)
            seen.append(self._loss(desk, y[batch], rate / len(batch)))
            self._backward(desk, taken, dropped=dice is not None)
            change.apply(self.weights.flat, self.slope.flat)
        end = self.weights.dump()
        return ended(end if only is None else np.where(only, end, start), np.concatenate(seen))

    def losses(self, model: Flat, x: Float32[np.ndarray, "samples ..."], y: NDArray[np.generic]) -> Vector:
        return np.concatenate([self._loss(desk, y[part], 0.0) for desk, part in self._passes(model, x)])

    def outputs(self, model: Flat, x: Float32[np.ndarray, "samples ..."]) -> Float32[np.ndarray, "samples outputs"]:
        return np.concatenate([desk.outputs.T.copy() for desk, _ in self._passes(model, x)])

    def gradient(self, model: Flat, x: Float32[np.ndarray, "samples ..."], y: NDArray[np.generic]) -> Flat:
        total, rows = np.zeros(self.chain.size, np.float32), x.reshape(len(x), -1)
        for desk, part in self._passes(model, x):
            self._loss(desk, y[part], 1 / len(x))
            self._backward(desk, rows[part], dropped=False)
            total += self.slope.flat
        self.slope.flat[:] = total
        return self.slope.dump()

    def _passes(self, model: Flat, x: Float32[np.ndarray, "samples ..."]) -> Iterator[tuple[Desk, slice]]:
        """Runs all samples through, a chunk at a time."""
        self.weights.load(model)
        rows = x.reshape(len(x), -1)
        for at in range(0, max(len(x), 1), CHUNK):
            part = slice(at, min(at + CHUNK, len(x)))
            desk = self._desk(part.stop - at)
            self._forward(desk, rows[part], None)
            yield desk, part

    def _forward(self, desk: Desk, x: Matrix, dice: np.random.Generator | None) -> None:
        for place, (matrix, bias), drop in zip(desk.hidden, self.weights.hidden, self.chain.dropout, strict=True):
            np.matmul(x, matrix, out=place.values)
            np.add(place.values, bias, out=place.values)
            x = np.maximum(place.values, place.zeros, out=place.values)
            if dice is not None and drop:
                np.less(dice.random(out=place.slope, dtype=np.float32), np.float32(1 - drop), out=place.mask)
                np.multiply(x, place.mask, out=x)
                np.multiply(x, np.float32(1 / (1 - drop)), out=x)
        matrix, bias = self.weights.last
        np.matmul(matrix, x.T, out=desk.outputs)
        np.add(desk.outputs, bias[:, None], out=desk.outputs)

    def _backward(self, desk: Desk, x: Matrix, dropped: bool) -> None:
        """From the slope at the outputs to that at the weights."""
        inputs = [x, *(place.values for place in desk.hidden)]
        (matrix, _), (turned, bias), slope = self.weights.last, self.slope.last, desk.outputs.T
        np.matmul(desk.outputs, inputs[-1], out=turned)
        np.dot(desk.outputs, desk.ones, out=bias)
        for i in reversed(range(len(desk.hidden))):
            place, drop = desk.hidden[i], self.chain.dropout[i]
            np.matmul(slope, matrix, out=place.slope)
            np.multiply(place.slope, np.greater(place.values, ZERO, out=place.mask), out=place.slope)
            if dropped and drop:
                np.multiply(place.slope, np.float32(1 / (1 - drop)), out=place.slope)
            np.matmul(inputs[i].T, place.slope, out=self.slope.hidden[i][0])
            np.dot(desk.ones, place.slope, out=self.slope.hidden[i][1])
            matrix, slope = self.weights.hidden[i][0].T, place.slope

    def _loss(self, desk: Desk, y: NDArray[np.generic], scale: float) -> Vector:
        """Returns the losses, and leaves `scale` × their slope where the outputs were."""
        return desk.cross_entropy(y, np.float32(scale)) if self.classify else desk.squared_error(y, np.float32(scale))

    def _desk(self, samples: int) -> Desk:
        if samples not in self.desks:
            if len(self.desks) == 8:
                self.desks.pop(next(iter(self.desks)))
            self.desks[samples] = Desk(self.chain, samples)
        return self.desks[samples]


class Place:
    """Room for one hidden layer: its values after ReLU, and the slope of the loss before it."""

    def __init__(self, samples: int, width: int) -> None:
        self.values, self.slope, self.zeros = (np.zeros((samples, width), np.float32) for _ in range(3))
        self.mask = np.zeros((samples, width), np.bool_)


class Desk:
    """Room for one pass of so many samples."""

    def __init__(self, chain: Chain, samples: int) -> None:
        self.inputs = np.zeros((samples, chain.widths[0]), np.float32)
        self.hidden = [Place(samples, width) for width in chain.widths[1:-1]]
        self.outputs = np.zeros((chain.widths[-1], samples), np.float32)
        self.ones, self.top = np.ones(samples, np.float32), np.zeros(samples, np.float32)
        self.cells = np.arange(samples)

    def cross_entropy(self, y: NDArray[np.generic], scale: np.float32) -> Vector:
        """Softmax cross-entropy of labels; leaves scale × (probability − truth) in the outputs."""
        z, cells = self.outputs, y.astype(np.intp) * len(self.cells) + self.cells
        np.subtract(z, np.maximum.reduce(z, axis=0, out=self.top), out=z)
        losses: Vector = z.ravel()[cells]
        np.add.reduce(np.exp(z, out=z), axis=0, out=self.top)
        np.subtract(np.log(self.top), losses, out=losses)
        np.multiply(z, np.divide(scale, self.top, out=self.top), out=z)
        z.ravel()[cells] -= scale
        return losses

    def squared_error(self, y: NDArray[np.generic], scale: np.float32) -> Vector:
        """Squared errors; leaves scale × 2 × error in the outputs, each divided by how many outputs there are."""
        z = self.outputs
        np.subtract(z, y.reshape(-1, len(z)).T, out=z)
        losses: Vector = np.square(z).mean(axis=0)
        np.multiply(z, scale * np.float32(2 / len(z)), out=z)
        return losses


class Change:
    """What one step does to the weights, with decay, pull, mask and momentum as asked. Slopes come times the rate."""

    def __init__(
        self, chain: Chain, steps: Steps, rate: float, toward: Flat | None, pull: float, only: NDArray[np.bool_] | None
    ) -> None:
        pull = 0.0 if toward is None else pull
        self.shrink, self.momentum = np.float32(rate * (steps.weight_decay + pull)), np.float32(steps.momentum)
        self.anchor = _inside(chain, toward) * np.float32(rate * pull) if toward is not None and pull else None
        self.moves = None if only is None else _inside(chain, only.astype(np.float32))
        self.velocity, self.spare = np.zeros(chain.size, np.float32), np.empty(chain.size, np.float32)

    def apply(self, weights: Flat, slope: Flat) -> None:
        """Moves the weights."""
        if self.shrink:
            np.add(slope, np.multiply(weights, self.shrink, out=self.spare), out=slope)
        if self.anchor is not None:
            np.subtract(slope, self.anchor, out=slope)
        if self.moves is not None:
            np.multiply(slope, self.moves, out=slope)
        if self.momentum:
            np.multiply(self.velocity, self.momentum, out=self.velocity)
            slope = np.add(self.velocity, slope, out=self.velocity)
        np.subtract(weights, slope, out=weights)


def _inside(chain: Chain, model: Flat) -> Flat:
    """A flat model as it lies inside."""
    weights = Weights(chain)
    weights.load(model)
    return weights.flat
