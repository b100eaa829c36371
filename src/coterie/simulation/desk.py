"""One pass of samples through a dense chain and back, in arrays that are used again and again."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

from coterie.simulation.chain import Chain, Weights

Matrix = Float32[np.ndarray, "rows columns"]
Vector = Float32[np.ndarray, " samples"]
ZERO = np.float32(0)


class Place:
    """Room for one hidden layer: its values after ReLU, and the slope of the loss before it."""

    def __init__(self, samples: int, width: int) -> None:
        self.values, self.slope, self.zeros = (np.zeros((samples, width), np.float32) for _ in range(3))
        self.mask = np.zeros((samples, width), np.bool_)


class Desk:
    """Room for one pass of so many samples, outputs × samples at its end."""

    def __init__(self, chain: Chain, samples: int) -> None:
        self.dropout = chain.dropout
        self.inputs = np.zeros((samples, chain.widths[0]), np.float32)
        self.hidden = [Place(samples, width) for width in chain.widths[1:-1]]
        self.outputs = np.zeros((chain.widths[-1], samples), np.float32)
        self.ones, self.top = np.ones(samples, np.float32), np.zeros(samples, np.float32)
        self.cells = np.arange(samples)

    def forward(self, weights: Weights, x: Matrix, base: Matrix | None = None, dice: np.random.Generator | None = None) -> None:
        """Fills in values and outputs. `base` is added before the first bias; dropout is thrown only where there are dice."""
        for place, (matrix, bias), drop in zip(self.hidden, weights.hidden, self.dropout, strict=True):
            np.matmul(x, matrix, out=place.values)
            if base is not None:
                np.add(place.values, base, out=place.values)
                base = None
            np.add(place.values, bias, out=place.values)
            x = np.maximum(place.values, place.zeros, out=place.values)
            if dice is not None and drop:
                np.less(dice.random(out=place.slope, dtype=np.float32), np.float32(1 - drop), out=place.mask)
                np.multiply(x, place.mask, out=x)
                np.multiply(x, np.float32(1 / (1 - drop)), out=x)
        matrix, bias = weights.last
        np.matmul(matrix, x.T, out=self.outputs)
        np.add(self.outputs, bias[:, None], out=self.outputs)

    def backward(self, weights: Weights, x: Matrix | None, slope: Weights, dropped: bool = False) -> None:
        """From the slope at the outputs to that at the weights, but for the first matrix if there is no `x`."""
        (matrix, _), (turned, bias), above = weights.last, slope.last, self.outputs.T
        below = self.hidden[-1].values if self.hidden else x
        if below is not None:
            np.matmul(self.outputs, below, out=turned)
        np.dot(self.outputs, self.ones, out=bias)
        for i in reversed(range(len(self.hidden))):
            place, drop = self.hidden[i], self.dropout[i]
            np.matmul(above, matrix, out=place.slope)
            np.multiply(place.slope, np.greater(place.values, ZERO, out=place.mask), out=place.slope)
            if dropped and drop:
                np.multiply(place.slope, np.float32(1 / (1 - drop)), out=place.slope)
            below = self.hidden[i - 1].values if i else x
            if below is not None:
                np.matmul(below.T, place.slope, out=slope.hidden[i][0])
            np.dot(self.ones, place.slope, out=slope.hidden[i][1])
            matrix, above = weights.hidden[i][0].T, place.slope

    def cross_entropy(self, y: NDArray[np.generic], scale: float) -> Vector:
        """Softmax cross-entropy of labels; leaves scale × (probability − truth) in the outputs."""
        z, cells = self.outputs, y.astype(np.intp) * len(self.cells) + self.cells
        np.subtract(z, np.maximum.reduce(z, axis=0, out=self.top), out=z)
        losses: Vector = z.ravel()[cells]
        np.add.reduce(np.exp(z, out=z), axis=0, out=self.top)
        np.subtract(np.log(self.top), losses, out=losses)
        np.multiply(z, np.divide(np.float32(scale), self.top, out=self.top), out=z)
        z.ravel()[cells] -= np.float32(scale)
        return losses

    def squared_error(self, y: NDArray[np.generic], scale: float) -> Vector:
        """Squared errors; leaves scale × 2 × error in the outputs. Both are divided by how many outputs there are."""
        z = self.outputs
        np.subtract(z, y.reshape(-1, len(z)).T, out=z)
        losses: Vector = np.square(z).mean(axis=0)
        np.multiply(z, np.float32(2 * scale / len(z)), out=z)
        return losses
