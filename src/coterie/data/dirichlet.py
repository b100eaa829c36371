"""Each class is spread over the clients by a Dirichlet draw: the usual label skew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Int64

from coterie.data.dataset import Dataset
from coterie.data.log_dirichlet import shares
from coterie.data.scheme import Holder, Scheme, at_least, labels_of, positive
from coterie.data.sizes import cut, top_up


@dataclass(frozen=True)
class Dirichlet(Scheme):
    """Draws for each class c the clients' shares p ~ Dir(α, …, α) and gives them its samples.

    `draws="cut"` shuffles the class and cuts it at the floors of the running sum of p (Hsu, Qi and Brown, 2019, as
    flwr-datasets and NIID-Bench do it); `draws="sample"` lets each sample draw its client from p (thesis of chapter 6's
    tables: closest to its Dirichlet rows). `balanced` gives nothing more to clients that hold more than n/M samples.

    Where the source is silent: clients below `min_size` receive random samples from the largest, one at a time;
    flwr-datasets draws everything anew instead, and gives up after some ten draws.

    >>> import coterie.data as data
    >>> len(data.dirichlet(alpha=0.1).split(data.load("digits"), clients=20, seed=1))
    20
    """

    alpha: float = 0.5
    draws: Literal["cut", "sample"] = "cut"
    balanced: bool = False
    min_size: int = 1

    def __post_init__(self) -> None:
        positive(alpha=self.alpha)
        at_least(0, min_size=self.min_size)
        if self.draws not in ("cut", "sample"):
            raise ValueError(f"draws: must be 'cut' or 'sample', not {self.draws!r}")

    def holders(self, dataset: Dataset, clients: int, dice: np.random.Generator) -> Holder:
        """Class by class, then repairs sizes."""
        y = labels_of(dataset, self.name)
        holder = np.empty(len(y), dtype=np.intp)
        sizes = np.zeros(clients, dtype=np.int64)
        for c in range(dataset.classes):
            members = np.flatnonzero(y == c)
            p = shares(np.full(clients, float(self.alpha)), dice)
            counts = self._counts(self._rebalanced(p, sizes, len(y)), len(members), dice)
            holder[dice.permutation(members)] = np.repeat(np.arange(clients), counts)
            sizes += counts
        return top_up(holder, clients, self.min_size, dice)

    def _counts(self, p: np.ndarray, total: int, dice: np.random.Generator) -> Int64[np.ndarray, " clients"]:
        return cut(p, total) if self.draws == "cut" else dice.multinomial(total, p)

    def _rebalanced(self, p: np.ndarray, sizes: Int64[np.ndarray, " clients"], total: int) -> np.ndarray:
        open_to_more = p * (sizes <= total / len(p)) if self.balanced else p
        return open_to_more / open_to_more.sum() if open_to_more.any() else p
