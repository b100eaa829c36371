"""Each client is one of those who made the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.data.dataset import Dataset
from coterie.data.scheme import Holder, Scheme


@dataclass(frozen=True)
class Natural(Scheme):
    """Gives each client the samples of one natural owner, such as a writer.

    With fewer clients than owners, so many owners are drawn without replacement, and the samples of the others are held
    by nobody; more clients than owners are refused.

    >>> import coterie.data as data
    >>> writers = data.synthetic(clients=8)
    >>> len(data.natural().split(writers, clients=5).order) < len(writers)
    True
    """

    def holders(self, dataset: Dataset, clients: int, dice: np.random.Generator) -> Holder:
        """One owner a client, in the owners' order."""
        if dataset.owners is None:
            raise ValueError(f"natural: '{dataset.name}' does not say whose its samples are")
        owners = np.unique(dataset.owners)
        if clients > len(owners):
            raise ValueError(f"natural: {clients} clients, but the samples of '{dataset.name}' have {len(owners)} owners")
        chosen = np.sort(dice.choice(owners, clients, replace=False))
        place = np.minimum(np.searchsorted(chosen, dataset.owners), clients - 1)
        return np.where(chosen[place] == dataset.owners, place, -1)
