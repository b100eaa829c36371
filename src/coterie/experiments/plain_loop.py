"""The jobs of the speed benchmark, and a plain PyTorch loop that does them: what the simulation is measured against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from coterie.data import Dataset, load
from coterie.simulation.models import builder

EPOCHS, BATCH, RATE = 5, 64, 0.01
"""What `coterie.federation.Steps` are unless told otherwise."""


@dataclass(frozen=True)
class Job:
    """So many clients, each with two shards of Fashion-MNIST, some of whom train in a round, which is then judged."""

    model: str
    clients: int
    per_round: int
    rounds: int
    """How many rounds are timed, after one that is not."""

    @property
    def what(self) -> str:
        """The job in words."""
        return (
            f"a round of FedAvg: {self.model}, {self.per_round} of {self.clients} clients of {60_000 // self.clients} "
            f"images, {EPOCHS} epochs, batch {BATCH}, 10,000 test images"
        )


JOBS = {"mlp": Job("mlp", 100, 5, 12), "cnn": Job("cnn", 100, 5, 4), "many": Job("mlp", 1000, 100, 8)}


class Loop:
    """Federated averaging as anybody would write it in PyTorch, its tensors prepared."""

    def __init__(self, job: Job, dataset: Dataset, held: Sequence[NDArray[np.int64]]) -> None:
        self.job, self.dice = job, np.random.default_rng(0)
        self.data = [(torch.from_numpy(dataset.x[rows]), torch.from_numpy(dataset.y[rows])) for rows in held]
        self.x_test, self.y_test = torch.from_numpy(dataset.x_test), torch.from_numpy(dataset.y_test)
        self.module = builder(job.model, dataset.shape, dataset.classes)()
        self.names = [name for name, _ in self.module.named_parameters()]
        self.model = [array.detach().clone() for array in self.module.parameters()]

    def round(self, threads: int) -> float:
        """Trains, averages and judges; returns the accuracy."""
        torch.set_num_threads(threads)
        chosen = self.dice.choice(self.job.clients, self.job.per_round, replace=False)
        trained = [self.train(*self.data[client]) for client in chosen]
        self.model = [torch.stack(arrays).mean(dim=0) for arrays in zip(*trained, strict=True)]
        return self.accuracy()

    def train(self, x: Tensor, y: Tensor) -> list[Tensor]:
        """One client's descent."""
        self._load()
        self.module.train()
        optimizer, criterion = torch.optim.SGD(self.module.parameters(), lr=RATE), nn.CrossEntropyLoss()
        for _ in range(EPOCHS):
            for rows in torch.split(torch.randperm(len(y)), BATCH):
                optimizer.zero_grad()
                criterion(self.module(x[rows]), y[rows]).backward()
                optimizer.step()
        return [array.detach().clone() for array in self.module.parameters()]

    @torch.no_grad()
    def accuracy(self) -> float:
        """The share of test images whose label the model finds."""
        self._load()
        self.module.eval()
        found = [self.module(x).argmax(dim=1) == y for x, y in self._tests()]
        return float(torch.cat(found).float().mean())

    @torch.no_grad()
    def _load(self) -> None:
        for array, value in zip(self.module.parameters(), self.model, strict=True):
            array.copy_(value)

    def _tests(self) -> Iterator[tuple[Tensor, Tensor]]:
        return zip(torch.split(self.x_test, 1000), torch.split(self.y_test, 1000), strict=True)


def images() -> Dataset:
    """Fashion-MNIST, or noise of its shape where its files cannot be found, which takes as long."""
    try:
        return load("fashion-mnist")
    except (OSError, ValueError):
        dice = np.random.default_rng(0)
        x = dice.normal(size=(70_000, 1, 28, 28)).astype(np.float32)
        y = dice.permutation(np.arange(70_000) % 10)
        return Dataset.of("noise", x[:60_000], y[:60_000], x[60_000:], y[60_000:])
