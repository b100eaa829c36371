"""A way to run one architecture over data: what the fast path and the general path have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

import numpy as np
from jaxtyping import Float32, Int
from numpy.typing import NDArray

from coterie.federation import Descent, Inputs, Layout, Steps


class Path(ABC):
    """Runs one architecture, one model at a time, on one thread. Pure: the same arguments give the same bytes.

    A path holds scratch memory, so each worker has a path of its own. Behind a model may stand what a backbone shares
    beside it, which no path looks at.
    """

    layout: Layout

    @abstractmethod
    def initial(self, seed: int) -> Float32[np.ndarray, " dim"]:
        """A fresh model."""

    @abstractmethod
    def descend(
        self,
        start: Float32[np.ndarray, " dim"],
        x: Float32[np.ndarray, "samples ..."],
        y: NDArray[np.generic],
        order: Int[np.ndarray, "epochs samples"],
        steps: Steps,
        rate: float,
        *,
        toward: Float32[np.ndarray, " dim"] | None = None,
        pull: float = 0.0,
        only: NDArray[np.bool_] | None = None,
        seed: int = 0,
    ) -> Descent:
        """Mini-batch descent over the samples in the given orders, the last partial batch of an epoch kept.

        Each step subtracts `rate` × (gradient + weight decay · w + pull · (w − toward)), through momentum if
        there is any, from the coordinates that `only` names (all if None). `seed` is for dropout.
        """

    @abstractmethod
    def losses(
        self, model: Float32[np.ndarray, " dim"], x: Float32[np.ndarray, "samples ..."], y: NDArray[np.generic]
    ) -> Float32[np.ndarray, " samples"]:
        """The loss of each sample, in evaluation mode."""

    @abstractmethod
    def outputs(
        self, model: Float32[np.ndarray, " dim"], x: Float32[np.ndarray, "samples ..."]
    ) -> Float32[np.ndarray, "samples outputs"]:
        """Logits (or predictions, for regression), in evaluation mode."""

    @abstractmethod
    def gradient(
        self, model: Float32[np.ndarray, " dim"], x: Float32[np.ndarray, "samples ..."], y: NDArray[np.generic]
    ) -> Float32[np.ndarray, " dim"]:
        """The gradient of the mean loss, in evaluation mode."""

    @abstractmethod
    def inputs(self, model: Float32[np.ndarray, " dim"], x: Float32[np.ndarray, "samples ..."]) -> Mapping[str, Inputs]:
        """Mean and variance of what enters each layer that has parameters, channel by channel, in evaluation mode."""


def batches(order: Int[np.ndarray, "epochs samples"], steps: Steps) -> Iterator[Int[np.ndarray, " batch"]]:
    """Yields the samples of each mini-batch; none crosses from an epoch into the next.

    >>> [batch.tolist() for batch in batches(np.array([[2, 0, 1], [1, 2, 0]]), Steps(batch_size=2, max_steps=3))]
    [[2, 0], [1], [1, 2]]
    """
    epochs, samples = order.shape
    if not order.size:
        raise ValueError(f"order: {epochs} epochs over {samples} samples are nothing to train on")
    starts = [(epoch, at) for epoch in range(epochs) for at in range(0, samples, steps.batch_size)]
    for epoch, at in starts[: steps.max_steps]:
        yield order[epoch, at : at + steps.batch_size]


def ended(model: Float32[np.ndarray, " dim"], losses: Float32[np.ndarray, " seen"]) -> Descent:
    """A descent from its end and the losses that it passed."""
    exact = losses.astype(np.float64)
    return Descent(model, float(exact.mean()), float(np.sqrt(np.square(exact).mean())))
