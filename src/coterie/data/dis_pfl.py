"""The two partitions of Dis-PFL, which AFIND+ follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.data.dataset import Dataset
from coterie.data.inner_dirichlet import take_turns
from coterie.data.log_dirichlet import log_gamma_draws
from coterie.data.scheme import Holder, Scheme, at_least, labels_of, positive
from coterie.data.sizes import apportion


@dataclass(frozen=True)
class DisPfl(Scheme):
    """Equal sizes; label shares from Dir(α, …, α) per client, or equal among `classes` random classes (Dai et al., 2022).

    α is per class: 0.1 here is five times milder than FedCor's 0.2 over ten classes. A class that is used up is
    drawn no more. Differs from its code in one point: where all of a client's `classes` are used up, that code hands
    samples out twice; here the client draws from what is left of the others.

    >>> import coterie.data as data
    >>> data.dis_pfl(classes=2).split(data.load("digits"), clients=10, seed=1).sizes.min()
    np.int64(143)
    """

    alpha: float = 0.1
    classes: int | None = None

    def __post_init__(self) -> None:
        positive(alpha=self.alpha)
        if self.classes is not None:
            at_least(1, classes=self.classes)

    def holders(self, dataset: Dataset, clients: int, dice: np.random.Generator) -> Holder:
        """Draws label shares, then classes, then samples."""
        y = labels_of(dataset, self.name)
        if self.classes is None:
            logs = log_gamma_draws(np.full((clients, dataset.classes), float(self.alpha)), dice)
        elif self.classes <= dataset.classes:
            rank = np.argsort(np.argsort(dice.random((clients, dataset.classes)), axis=1), axis=1)
            logs = np.where(rank < self.classes, 0.0, -np.inf)
        else:
            raise ValueError(f"dis-pfl: {self.classes} classes a client, but '{dataset.name}' has {dataset.classes}")
        return take_turns(logs, apportion(np.ones(clients), len(y)), y, dice)
