"""The path for dense chains, forward and backward written by hand.

Around matrix products this small autograd costs more than the products. Everything is written into scratch
arrays, and one mini-batch is some thirty calls of NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from jaxtyping import Float32, Int
from numpy.typing import NDArray

from coterie.federation import Descent, Inputs, Steps
from coterie.simulation.chain import Chain, Flat, Weights
from coterie.simulation.desk import Desk, Matrix, Vector
from coterie.simulation.flat import Build, flatten, layout_of, seeded
from coterie.simulation.general import GeneralPath
from coterie.simulation.path import Path, batches, ended
from coterie.simulation.ways import ByProducts, ByWeights, Way

CHUNK = 500
"""Samples that go through a chain at once where nothing is trained."""
DESKS = 8
"""Sizes of mini-batches for which scratch arrays are kept."""


class DensePath(Path):
    """Runs a dense chain with softmax cross-entropy, or with squared error (the mean over the outputs)."""

    def __init__(self, build: Build, chain: Chain, classify: bool) -> None:
        self.build, self.chain, self.classify = build, chain, classify
        self.layout = layout_of(seeded(build, 0))
        self.weights, self.slope = Weights(chain), Weights(chain)
        self.desks: dict[tuple[Chain, int], Desk] = {}

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
        self.weights.load(start)
        plain = not (steps.weight_decay or pull or only is not None)
        way = self._way(x.reshape(len(x), self.chain.widths[0]), len(order) if plain else 0)
        change = Change(way.chain, steps, rate, toward, pull, only)
        dice = np.random.Generator(np.random.SFC64(seed)) if any(self.chain.dropout) else None
        seen = []
        for batch in batches(order, steps):
            desk = self._desk(way.chain, len(batch))
            way.enter(desk, batch, dice)
            seen.append(self._loss(desk, y[batch], rate / len(batch)))
            way.leave(desk, batch, dropped=dice is not None)
            change.apply(way.weights.flat, way.slope.flat)
        way.end()
        end = self.weights.dump()
        return ended(end if only is None else np.where(only, end, start), np.concatenate(seen))

    def losses(self, model: Flat, x: Float32[np.ndarray, "samples ..."], y: NDArray[np.generic]) -> Vector:
        return np.concatenate([self._loss(desk, y[part], 0.0) for desk, part in self._passes(model, x)])

    def outputs(self, model: Flat, x: Float32[np.ndarray, "samples ..."]) -> Float32[np.ndarray, "samples outputs"]:
        return np.concatenate([desk.outputs.T.copy() for desk, _ in self._passes(model, x)])

    def gradient(self, model: Flat, x: Float32[np.ndarray, "samples ..."], y: NDArray[np.generic]) -> Flat:
        total, rows = np.zeros(self.chain.size, np.float32), x.reshape(len(x), self.chain.widths[0])
        for desk, part in self._passes(model, x):
            self._loss(desk, y[part], 1 / len(x))
            desk.backward(self.weights, rows[part], self.slope)
            total += self.slope.flat
        self.slope.flat[:] = total
        return self.slope.dump()

    def inputs(self, model: Flat, x: Float32[np.ndarray, "samples ..."]) -> Mapping[str, Inputs]:
        return GeneralPath(self.build).inputs(model, x)  # asked for too rarely to be written by hand

    def _passes(self, model: Flat, x: Float32[np.ndarray, "samples ..."]) -> Iterator[tuple[Desk, slice]]:
        """Runs all samples through, a chunk at a time."""
        self.weights.load(model)
        rows = x.reshape(len(x), self.chain.widths[0])
        for at in range(0, max(len(x), 1), CHUNK):
            part = slice(at, min(at + CHUNK, len(x)))
            desk = self._desk(self.chain, part.stop - at)
            desk.forward(self.weights, rows[part])
            yield desk, part

    def _way(self, x: Matrix, epochs: int) -> Way:
        if ByProducts.pays(self.chain, len(x), epochs):
            return ByProducts(self.chain, self.weights, x)
        return ByWeights(self.chain, self.weights, self.slope, x)

    def _loss(self, desk: Desk, y: NDArray[np.generic], scale: float) -> Vector:
        """Returns the losses, and leaves `scale` × their slope where the outputs were."""
        return desk.cross_entropy(y, scale) if self.classify else desk.squared_error(y, scale)

    def _desk(self, chain: Chain, samples: int) -> Desk:
        if (desk := self.desks.get((chain, samples))) is None:
            if len(self.desks) == DESKS:
                self.desks.pop(next(iter(self.desks)))
            desk = self.desks[chain, samples] = Desk(chain, samples)
        return desk


class Change:
    """What one step does to the weights, with decay, pull, mask and momentum as asked. Slopes come times the rate."""

    def __init__(
        self, chain: Chain, steps: Steps, rate: float, toward: Flat | None, pull: float, only: NDArray[np.bool_] | None
    ) -> None:
        pull = 0.0 if toward is None else pull
        self.shrink, self.momentum = np.float32(rate * (steps.weight_decay + pull)), np.float32(steps.momentum)
        self.anchor = _inside(chain, toward) * np.float32(rate * pull) if toward is not None and pull else None
        self.moves = None if only is None else _inside(chain, only.astype(np.float32))
        self.velocity, self.spare = (
            np.zeros(chain.size if needed else 0, np.float32) for needed in (self.momentum, self.shrink)
        )

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
