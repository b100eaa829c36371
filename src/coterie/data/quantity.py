"""Sizes are a Dirichlet draw; labels are mixed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.data.dataset import Dataset
from coterie.data.log_dirichlet import shares
from coterie.data.scheme import Holder, Scheme, at_least, positive
from coterie.data.sizes import apportion, deal


@dataclass(frozen=True)
class Quantity(Scheme):
    """Sizes in proportion to one draw from Dir(α, …, α) over the clients (NIID-Bench, Li et al., 2022).

    >>> import coterie.data as data
    >>> int(data.quantity(alpha=1000).split(data.load("digits"), clients=10).sizes.max()) < 170
    True
    """

    alpha: float = 0.5
    min_size: int = 1

    def __post_init__(self) -> None:
        positive(alpha=self.alpha)
        at_least(0, min_size=self.min_size)

    def holders(self, dataset: Dataset, clients: int, dice: np.random.Generator) -> Holder:
        """Deals shuffled samples."""
        return deal(apportion(shares(np.full(clients, self.alpha), dice), len(dataset), self.min_size), dice)
