"""Each client holds samples of a few classes only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool

from coterie.data.dataset import Dataset
from coterie.data.scheme import Holder, Scheme, at_least, labels_of
from coterie.data.sizes import apportion


@dataclass(frozen=True)
class Pathological(Scheme):
    """Gives each client exactly `classes` classes; the clients of a class share its samples equally.

    `choice` says which: "random" ones, "deterministic" (client k takes k, k+1, … in a circle) or "first-deterministic"
    (client k takes k and random others). The three are those of flwr-datasets.

    Where the source is silent: a class that nobody drew replaces, at a random client, one that others hold too, so
    that every sample has a holder.

    >>> import coterie.data as data
    >>> partition = data.pathological(2).split(data.load("digits"), clients=50, seed=1)
    >>> set((partition.counts(data.load("digits").y, 10) > 0).sum(axis=1).tolist())
    {2}
    """

    classes: int = 2
    choice: Literal["random", "deterministic", "first-deterministic"] = "random"

    def __post_init__(self) -> None:
        at_least(1, classes=self.classes)
        if self.choice not in ("random", "deterministic", "first-deterministic"):
            raise ValueError(f"choice: must be 'random', 'deterministic' or 'first-deterministic', not {self.choice!r}")

    def holders(self, dataset: Dataset, clients: int, dice: np.random.Generator) -> Holder:
        """Chooses classes, then deals each class evenly among those who chose it."""
        y = labels_of(dataset, self.name)
        if self.classes > dataset.classes:
            raise ValueError(f"pathological: {self.classes} classes a client, but '{dataset.name}' has {dataset.classes}")
        if self.classes * clients < dataset.classes:
            raise ValueError(f"pathological: {clients} clients with {self.classes} classes each cannot hold {dataset.classes}")
        takes = _cover(self._choose(clients, dataset.classes, dice), dice)
        holder = np.empty(len(y), dtype=np.intp)
        for c in range(dataset.classes):
            takers, members = np.flatnonzero(takes[:, c]), dice.permutation(np.flatnonzero(y == c))
            if len(takers) > len(members):
                raise ValueError(f"pathological: {len(takers)} clients drew class {c}, which has {len(members)} samples")
            holder[members] = np.repeat(takers, apportion(np.ones(len(takers)), len(members)))
        return holder

    def _choose(self, clients: int, classes: int, dice: np.random.Generator) -> Bool[np.ndarray, "clients classes"]:
        rank = dice.random((clients, classes))
        everyone, first = np.arange(clients), np.arange(clients) % classes
        if self.choice == "deterministic":
            rank = ((np.arange(classes) - first[:, None]) % classes).astype(float)
        elif self.choice == "first-deterministic":
            rank[everyone, first] = -1
        takes = np.zeros((clients, classes), dtype=bool)
        np.put_along_axis(takes, np.argsort(rank, axis=1)[:, : self.classes], True, axis=1)
        return takes


def _cover(takes: Bool[np.ndarray, "clients classes"], dice: np.random.Generator) -> Bool[np.ndarray, "clients classes"]:
    """Hands classes that nobody took to random clients in place of classes that others hold too."""
    takes = takes.copy()
    for c in np.flatnonzero(~takes.any(axis=0)):
        spare = np.argwhere(takes & (takes.sum(axis=0) > 1))
        client, given_up = spare[dice.integers(len(spare))]
        takes[client, given_up], takes[client, c] = False, True
    return takes
