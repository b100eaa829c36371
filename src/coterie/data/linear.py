"""Sizes grow linearly from client to client; labels are mixed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.data.dataset import Dataset
from coterie.data.scheme import Holder, Scheme, at_least
from coterie.data.sizes import apportion, deal


@dataclass(frozen=True)
class Linear(Scheme):
    """Client k of 1 … M holds samples in proportion to k.

    Differs from flwr-datasets in two points: samples are shuffled first, and what rounding leaves goes to the largest
    remainders instead of the last client.

    >>> import coterie.data as data
    >>> data.linear().split(data.load("digits"), clients=4).sizes.tolist()
    [144, 288, 431, 575]
    """

    min_size: int = 1

    def __post_init__(self) -> None:
        at_least(0, min_size=self.min_size)

    def holders(self, dataset: Dataset, clients: int, dice: np.random.Generator) -> Holder:
        """Deals shuffled samples."""
        return deal(apportion(np.arange(1, clients + 1), len(dataset), self.min_size), dice)
