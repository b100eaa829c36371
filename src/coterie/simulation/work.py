"""What the engine hands to workers: tasks, plain values that run on a path and the clients' data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from coterie.simulation.clients import Clients
from coterie.simulation.path import Path

Result = TypeVar("Result", covariant=True)
Outcome = TypeVar("Outcome")


class Task(ABC, Generic[Result]):
    """A piece of work that any worker can do with the same result. It can be pickled."""

    @abstractmethod
    def run(self, path: Path, clients: Clients) -> Result:
        """Does the work."""


class Crew(Protocol):
    """Those who do the tasks."""

    def run(self, tasks: Sequence[Task[Outcome]]) -> list[Outcome]:
        """Returns the results in the order of the tasks, whoever did them."""

    def close(self) -> None:
        """Sends everybody home."""


class Alone:
    """One worker: this process."""

    def __init__(self, path: Path, clients: Clients) -> None:
        self.path, self.clients = path, clients

    def run(self, tasks: Sequence[Task[Outcome]]) -> list[Outcome]:
        """Does one task after another."""
        return [task.run(self.path, self.clients) for task in tasks]

    def close(self) -> None:
        """Nobody is to be sent home."""
