"""Sizes grow exponentially from client to client; labels are mixed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.data.dataset import Dataset
from coterie.data.scheme import Holder, Scheme, at_least, positive
from coterie.data.sizes import apportion, deal


@dataclass(frozen=True)
class Exponential(Scheme):
    """Sizes in proportion to exp of a line from 0 to `spread`, so that the largest is e^spread times the smallest.

    Flower's class of that name uses exp(1), exp(2), …, which leaves nothing for most of more than eleven clients. The
    default of 2.1 was fitted to the entropy and sparsity of the Exponential rows of the two-level thesis, which names
    Flower's class although it cannot have made its 1,000 clients.

    >>> import coterie.data as data
    >>> data.exponential().split(data.load("digits"), clients=5).sizes.tolist()
    [77, 131, 222, 375, 633]
    """

    spread: float = 2.1
    min_size: int = 1

    def __post_init__(self) -> None:
        positive(spread=self.spread)
        at_least(0, min_size=self.min_size)

    def holders(self, dataset: Dataset, clients: int, dice: np.random.Generator) -> Holder:
        """Deals shuffled samples."""
        weights = np.exp(np.linspace(-self.spread, 0, clients))
        return deal(apportion(weights, len(dataset), self.min_size), dice)
