"""The smallest model that can learn: a linear classifier on a flat vector, in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Int
from numpy.typing import NDArray

from coterie.federation import Descent, Inputs, Layout, OwnSamples, Steps
from coterie.roster import Ids

Flat = Float32[np.ndarray, " dim"]
Samples = tuple[Float32[np.ndarray, "samples features"], Int[np.ndarray, " samples"]]


@dataclass(frozen=True)
class Linear:
    """Softmax over classes of a linear map: weights, then bias."""

    features: int
    classes: int

    @property
    def layout(self) -> Layout:
        """What the coordinates mean."""
        return Layout(("linear.weight", "linear.bias"), ((self.classes, self.features), (self.classes,)))

    def outputs(self, model: Flat, x: NDArray[np.float32]) -> Float[np.ndarray, "samples classes"]:
        """Log-probabilities."""
        parts = self.layout.split(model)
        raw = x.astype(np.float64) @ parts["linear.weight"].T + parts["linear.bias"]
        raw -= raw.max(axis=1, keepdims=True)
        return np.asarray(raw - np.log(np.exp(raw).sum(axis=1, keepdims=True)))

    def losses(self, model: Flat, samples: Samples) -> Float[np.ndarray, " samples"]:
        """Cross-entropy of each sample."""
        x, y = samples
        return -self.outputs(model, x)[np.arange(len(y)), y]

    def gradient(self, model: Flat, samples: Samples) -> Float32[np.ndarray, " dim"]:
        """The gradient of the mean loss."""
        x, y = samples
        wrong = np.exp(self.outputs(model, x))
        wrong[np.arange(len(y)), y] -= 1
        wrong /= len(y)
        return np.concatenate([(wrong.T @ x).ravel(), wrong.sum(axis=0)]).astype(np.float32)

    def descend(
        self,
        start: Flat,
        samples: Samples,
        rng: np.random.Generator,
        steps: Steps,
        rate: float,
        *,
        toward: Flat | None = None,
        pull: float = 0.0,
        only: NDArray[np.bool_] | slice | None = None,
    ) -> Descent:
        """Mini-batch descent; see `Local.descend`."""
        model, speed, (x, y) = start.astype(np.float32), np.zeros_like(start), samples
        moving = np.zeros(len(model), dtype=bool)
        moving[slice(None) if only is None else only] = True
        seen = []
        for few in _batches(rng, len(y), steps):
            seen.append(self.losses(model, (x[few], y[few])))
            step = self.gradient(model, (x[few], y[few])) + np.float32(steps.weight_decay) * model
            step = step if toward is None else step + np.float32(pull) * (model - toward)
            speed = np.float32(steps.momentum) * speed + step
            model = model - np.float32(rate) * speed * moving
        losses = np.concatenate(seen)
        return Descent(model, float(losses.mean()), float(np.sqrt((losses**2).mean())))


@dataclass(frozen=True, eq=False)
class ToySamples(OwnSamples):
    """What a client of the toy finds out on its training samples."""

    model: Linear
    samples: Samples

    def __len__(self) -> int:
        return len(self.samples[1])

    def losses(self, model: Flat, some: Ids | None = None) -> Float[np.ndarray, " samples"]:
        return self.model.losses(model, self._some(some))

    def gradient(self, model: Flat, some: Ids | None = None) -> Flat:
        return self.model.gradient(model, self._some(some))

    def inputs(self, model: Flat) -> Mapping[str, Inputs]:
        x = self.samples[0].astype(np.float64)
        return {"linear": Inputs(x.mean(axis=0), x.var(axis=0))}

    def _some(self, some: Ids | None) -> Samples:
        return self.samples if some is None else (self.samples[0][some], self.samples[1][some])


def _batches(rng: np.random.Generator, count: int, steps: Steps) -> list[NDArray[np.intp]]:
    size = steps.batch_size
    shuffles = [rng.permutation(count) for _ in range(steps.epochs)]
    return [order[at : at + size] for order in shuffles for at in range(0, count, size)][: steps.max_steps]
