"""Two ways down for a dense chain: by its weights, or by its samples' inner products. They end at the same place."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from jaxtyping import Int

from coterie.simulation.chain import Chain, Weights
from coterie.simulation.desk import Desk, Matrix

LESS = 0.75
"""Inner products are used where they need less than this share of the multiplications."""

Batch = Int[np.ndarray, " batch"]


class Way(ABC):
    """Where a descent keeps its weights, and how a mini-batch goes through them and back."""

    chain: Chain
    weights: Weights
    slope: Weights

    @abstractmethod
    def enter(self, desk: Desk, batch: Batch, dice: np.random.Generator | None) -> None:
        """Takes the samples to the outputs."""

    @abstractmethod
    def leave(self, desk: Desk, batch: Batch, dropped: bool) -> None:
        """Takes the slope at the outputs back to the weights."""

    @abstractmethod
    def end(self) -> None:
        """Brings home what the descent changed."""


class ByWeights(Way):
    """As it is usually done."""

    def __init__(self, chain: Chain, weights: Weights, slope: Weights, x: Matrix) -> None:
        self.chain, self.weights, self.slope, self.x = chain, weights, slope, x

    def enter(self, desk: Desk, batch: Batch, dice: np.random.Generator | None) -> None:
        desk.forward(self.weights, self.x.take(batch, axis=0, out=desk.inputs, mode="clip"), dice=dice)

    def leave(self, desk: Desk, batch: Batch, dropped: bool) -> None:
        desk.backward(self.weights, desk.inputs, self.slope, dropped)

    def end(self) -> None:
        """It is at home."""


class ByProducts(Way):
    """Whatever mini-batches do to the first matrix W, they add multiples of samples to it: W = W₀ + XᵀA.

    A has a row for each sample. The first layer's outputs are XW = XW₀ + (XXᵀ)A, so the descent can go on in A.
    XW₀, XXᵀ and at last XᵀA are computed once; a step costs as if a sample had only as many features as the client
    has samples. (The representer theorem; it does not hold once weights decay or are pulled elsewhere.)
    """

    def __init__(self, chain: Chain, weights: Weights, x: Matrix) -> None:
        self.chain = Chain((len(x), *chain.widths[1:]), chain.dropout)
        self.weights, self.slope = Weights(self.chain), Weights(self.chain)
        self.first, self.home, self.x = weights.hidden[0][0], weights, x
        self.added = self.weights.hidden[0][0]
        self.weights.flat[self.added.size :] = weights.flat[self.first.size :]
        self.products, self.base = np.matmul(x, x.T), np.matmul(x, self.first)

    @staticmethod
    def pays(chain: Chain, samples: int, epochs: int) -> bool:
        """Whether this needs clearly fewer multiplications.

        >>> mlp = Chain((784, 64, 30, 10), (0, 0))
        >>> [ByProducts.pays(mlp, *case) for case in [(60, 5), (600, 5), (60, 1)]]
        [True, False, False]
        """
        features, width = chain.widths[:2]
        usual = 2 * epochs * samples * features * width
        once = samples * features * (samples / 2 + 2 * width)
        return len(chain.widths) > 2 and once + epochs * samples**2 * width < LESS * usual

    def enter(self, desk: Desk, batch: Batch, dice: np.random.Generator | None) -> None:
        products = self.products.take(batch, axis=0, out=desk.inputs, mode="clip")
        desk.forward(self.weights, products, base=self.base[batch], dice=dice)

    def leave(self, desk: Desk, batch: Batch, dropped: bool) -> None:
        desk.backward(self.weights, None, self.slope, dropped)
        added = self.slope.hidden[0][0]
        added[:] = 0
        added[batch] = desk.hidden[0].slope

    def end(self) -> None:
        np.add(self.first, np.matmul(self.x.T, self.added), out=self.first)
        self.home.flat[self.first.size :] = self.weights.flat[self.added.size :]
