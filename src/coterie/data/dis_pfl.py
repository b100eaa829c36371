"""The two partitions of Dis-PFL, which AFIND+ follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool
from numpy.typing import NDArray

from coterie.data.dataset import Dataset
from coterie.data.inner_dirichlet import take_turns
from coterie.data.log_dirichlet import log_gamma_draws
from coterie.data.scheme import Holder, Scheme, at_least, labels_of, positive
from coterie.data.sizes import apportion


@dataclass(frozen=True)
class DisPfl(Scheme):
    """Equal sizes; label shares from Dir(α, …, α) per client, or equal among `classes` random classes (Dai et al., 2022).

    α is per class: 0.1 here is five times milder than FedCor's 0.2 over ten classes. A class that is used up is
    drawn no more. Two settings are ours: `samples` gives each client so many and leaves the rest, and `groups` plants
    groups, client k drawing from part k mod `groups` of the classes only. Differs from its code in one point: where all
    of a client's `classes` are used up, that code hands samples out twice; here the client draws from what is left of
    the others.

    >>> import coterie.data as data
    >>> data.dis_pfl(classes=2).split(data.load("digits"), clients=10, seed=1).sizes.min()
    np.int64(143)
    """

    alpha: float = 0.1
    classes: int | None = None
    samples: int | None = None
    """How many samples each client gets; all are handed out if None."""
    groups: int = 1
    """Planted groups of clients, no class in two groups."""

    def __post_init__(self) -> None:
        positive(alpha=self.alpha)
        at_least(1, groups=self.groups)
        if self.samples is not None:
            at_least(1, samples=self.samples)
        if self.classes is not None:
            at_least(1, classes=self.classes)

    def holders(self, dataset: Dataset, clients: int, dice: np.random.Generator) -> Holder:
        """Draws label shares, then classes, then samples."""
        y = labels_of(dataset, self.name)
        own = self._own(dataset, clients)
        if self.classes is None:
            logs = np.where(own, log_gamma_draws(np.full(own.shape, float(self.alpha)), dice), -np.inf)
        elif self.classes <= own.sum(axis=1).min():
            rank = np.argsort(np.argsort(np.where(own, dice.random(own.shape), 2.0), axis=1), axis=1)
            logs = np.where(rank < self.classes, 0.0, -np.inf)
        else:
            raise ValueError(f"dis-pfl: {self.classes} classes a client, but '{dataset.name}' has {own.sum(axis=1).min()}")
        return take_turns(logs, self._sizes(clients, len(y)), y, dice)

    def _own(self, dataset: Dataset, clients: int) -> Bool[np.ndarray, "clients classes"]:
        """From which classes each client may draw."""
        if self.groups > dataset.classes:
            raise ValueError(f"groups: {self.groups} cannot be made of the {dataset.classes} classes of '{dataset.name}'")
        part = np.arange(dataset.classes) * self.groups // dataset.classes
        return np.equal.outer(np.arange(clients) % self.groups, part)

    def _sizes(self, clients: int, total: int) -> NDArray[np.int64]:
        if self.samples is None:
            return apportion(np.ones(clients), total)
        if self.samples * clients > total:
            raise ValueError(f"samples: {clients} clients with {self.samples} each need more than the {total} that there are")
        return np.full(clients, self.samples)
