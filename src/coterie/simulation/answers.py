"""Work that answers questions: losses, gradients and probes of one model on several clients' data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32

from coterie.federation import Split
from coterie.probe import Blur, Probe
from coterie.simulation import dice
from coterie.simulation.clients import Clients, Samples
from coterie.simulation.path import Path
from coterie.simulation.training import Flat, mean_loss
from coterie.simulation.work import Task


@dataclass(frozen=True, eq=False)
class Losses(Task[Float[np.ndarray, " clients"]]):
    """The mean losses of a model at some clients."""

    model: Flat
    clients: tuple[int, ...]
    split: Split
    batch: int | None
    round: int

    def run(self, path: Path, clients: Clients) -> Float[np.ndarray, " clients"]:
        answered = (answers_on(clients, client, self.split, self.batch, self.round) for client in self.clients)
        return np.array([mean_loss(path, self.model, samples) for samples in answered])


@dataclass(frozen=True, eq=False)
class Gradients(Task[Float32[np.ndarray, "clients part"]]):
    """The gradients of a model's mean training loss at some clients."""

    model: Flat
    clients: tuple[int, ...]
    part: slice
    batch: int | None
    round: int
    blur: Blur | None = None
    row: int = 0
    """In which the model stands; noise is thrown anew for each."""

    def run(self, path: Path, clients: Clients) -> Float32[np.ndarray, "clients part"]:
        return np.stack([self._answer(path, clients, client) for client in self.clients])

    def _answer(self, path: Path, clients: Clients, client: int) -> Float32[np.ndarray, " part"]:
        samples = answers_on(clients, client, "train", self.batch, self.round)
        slope = np.zeros(len(self.model), np.float32)  # no loss depends on what is beside the model
        slope[: path.layout.size] = path.gradient(self.model, *samples)
        if self.blur is None:
            return slope[self.part]
        question = (self.blur, self.part.indices(len(self.model)), self.batch)
        thrown = dice.noise(clients.seed, self.round, clients.keys[client], question, self.row, self.model)
        return self.blur.release(slope[self.part], len(samples[1]), thrown)


@dataclass(frozen=True, eq=False)
class Probes(Task[Float[np.ndarray, "clients directions"]]):
    """What some clients answer to a probe of a model."""

    model: Flat
    row: int
    clients: tuple[int, ...]
    probe: Probe
    split: Split
    round: int

    def run(self, path: Path, clients: Clients) -> Float[np.ndarray, "clients directions"]:
        head = path.layout.head
        moves = self.probe.moves(head.stop - head.start)
        return np.stack([self._answer(path, clients, client, moves) for client in self.clients])

    def _answer(
        self, path: Path, clients: Clients, client: int, moves: Float32[np.ndarray, "directions head"]
    ) -> Float[np.ndarray, " directions"]:
        samples = clients.asked(client, self.split)
        losses = np.array([mean_loss(path, model, samples) for model in self._moved(path.layout.head, moves)])
        question = (self.probe, self.split)
        thrown = dice.noise(clients.seed, self.round, clients.keys[client], question, self.row, self.model)
        return self.probe.release(losses - mean_loss(path, self.model, samples), thrown)

    def _moved(self, head: slice, moves: Float32[np.ndarray, "directions head"]) -> Iterator[Flat]:
        for move in moves:
            moved = self.model.copy()
            moved[head] += move
            yield moved


def answers_on(clients: Clients, client: int, split: Split, batch: int | None, round: int) -> Samples:
    """The samples that a client answers on: all of a split, or one mini-batch of them."""
    x, y = clients.asked(client, split)
    if batch is None:
        return x, y
    few = dice.batch(clients.seed, round, clients.keys[client], len(x), batch)
    return x[few], y[few]
