"""Work that answers a report: what clients' numbers truly are, before anything is done to protect them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.special import softmax

from coterie.report import Number
from coterie.simulation.clients import Clients, Samples
from coterie.simulation.path import Path
from coterie.simulation.training import Flat, mean_loss
from coterie.simulation.work import Task


@dataclass(frozen=True, eq=False)
class Tell(Task[Float[np.ndarray, "clients numbers"]]):
    """The true numbers of some clients, about one model; `beside` are all models, for the spread of their predictions."""

    model: Flat | None
    clients: tuple[int, ...]
    numbers: tuple[Number, ...]
    beside: tuple[Flat, ...] = ()

    def run(self, path: Path, clients: Clients) -> Float[np.ndarray, "clients numbers"]:
        return np.array([[self._one(path, clients, client, number) for number in self.numbers] for client in self.clients])

    def _one(self, path: Path, clients: Clients, client: int, number: Number) -> float:
        if number == "size":
            return float(clients.count("train")[client])
        assert self.model is not None
        held, trained = clients.asked(client, "holdout"), clients.samples(client, "train")
        if number in ("loss", "training_loss"):
            return mean_loss(path, self.model, held if number == "loss" else trained)
        if number == "gradient":
            return float(np.sqrt(np.square(path.gradient(self.model, *trained), dtype=np.float64).sum()))
        if number == "gap":
            return (squared_error(path, clients, self.model, held) - squared_error(path, clients, self.model, trained)) / 2
        return spread([predictions(path, clients, model, held) for model in self.beside])


def predictions(path: Path, clients: Clients, model: Flat, samples: Samples) -> Float[np.ndarray, "samples outputs"]:
    """What a model says of samples: probabilities of the classes, or targets."""
    outputs = path.outputs(model, samples[0]).astype(np.float64).reshape(len(samples[0]), -1)
    return np.asarray(softmax(outputs, axis=1)) if clients.classes else outputs


def squared_error(path: Path, clients: Clients, model: Flat, samples: Samples) -> float:
    """The mean squared error of predictions: over the targets, or summed over the classes (the Brier score)."""
    said, y = predictions(path, clients, model, samples), np.asarray(samples[1])
    if clients.classes:
        said[np.arange(len(y)), y] -= 1
        return float(np.square(said).sum(axis=1).mean())
    return float(np.square(said - y.reshape(said.shape)).mean())


def spread(said: list[NDArray[np.float64]]) -> float:
    """The mean variance of several models' predictions, in the units of `squared_error`; 0 for one model.

    >>> spread([np.array([[1.0]]), np.array([[3.0]])])
    2.0
    """
    if len(said) < 2:
        return 0.0
    variance = np.stack(said).var(axis=0, ddof=1)
    return float(variance.sum(axis=1).mean() if variance.shape[1] > 1 else variance.mean())
