"""Samples sorted by label, cut into equal shards, some shards to each client."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.data.dataset import Dataset
from coterie.data.scheme import Holder, Scheme, at_least, labels_of
from coterie.data.sizes import apportion


@dataclass(frozen=True)
class Shards(Scheme):
    """Gives each client `per_client` random shards of the samples sorted by label (McMahan et al., 2017).

    Where the source is silent: shards that cannot be equal differ by one sample, so that none is left over; samples
    of a class are sorted in random order.

    >>> import coterie.data as data
    >>> partition = data.shards(2).split(data.load("digits"), clients=100, seed=1)
    >>> int((partition.counts(data.load("digits").y, 10) > 0).sum(axis=1).max()) <= 4
    True
    """

    per_client: int = 2

    def __post_init__(self) -> None:
        at_least(1, per_client=self.per_client)

    def holders(self, dataset: Dataset, clients: int, dice: np.random.Generator) -> Holder:
        """Sorts, cuts, and deals the shards."""
        count = clients * self.per_client
        if count > len(dataset):
            raise ValueError(
                f"shards: {clients} clients × {self.per_client} shards need {count} samples; there are {len(dataset)}"
            )
        shuffled = dice.permutation(len(dataset))
        by_label = shuffled[np.argsort(labels_of(dataset, self.name)[shuffled], kind="stable")]
        owners = dice.permutation(np.repeat(np.arange(clients), self.per_client))
        holder = np.empty(len(dataset), dtype=np.intp)
        holder[by_label] = np.repeat(owners, apportion(np.ones(count), len(dataset)))
        return holder
