"""Everyone holds the same number of samples, drawn at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.data.dataset import Dataset
from coterie.data.scheme import Holder, Scheme
from coterie.data.sizes import apportion, deal


@dataclass(frozen=True)
class Iid(Scheme):
    """Deals shuffled samples in equal numbers; sizes differ by one at most.

    >>> import coterie.data as data
    >>> data.iid().split(data.load("digits"), clients=100).sizes.max()
    np.int64(15)
    """

    def holders(self, dataset: Dataset, clients: int, dice: np.random.Generator) -> Holder:
        """Equal sizes, dealt from a shuffled deck."""
        return deal(apportion(np.ones(clients), len(dataset)), dice)
