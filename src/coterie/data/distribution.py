"""A table says how the samples of each class are shared by the clients that hold it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from coterie.data.dataset import Dataset
from coterie.data.log_dirichlet import shares
from coterie.data.scheme import Holder, Scheme, at_least, labels_of, positive
from coterie.data.sizes import apportion


@dataclass(frozen=True)
class Distribution(Scheme):
    """Client k holds the classes k, k+1, … in a circle, `labels` of them, and of each a share by a table of weights.

    The weights are drawn: "dirichlet" draws each client's from Dir(α, …, α) over its classes, "lognormal" each entry
    from lognormal(0, σ) (with 2 labels and σ = 2 FedProx's power law); or they are given: a `table` with a row a
    class and a column for each client that holds it, in the clients' order, as flwr-datasets takes it. Each client
    first gets `preassigned` samples of each of its classes.

    The two-level thesis does not say how its "Distribution" was made; all labels with Dir(0.5), the default, comes
    nearest. `leftovers` says who gets what rounding down leaves: one random client a class ("one", as in
    flwr-datasets), or those with the largest remainders ("remainders").

    >>> import coterie.data as data
    >>> partition = data.distribution(labels=2, law="lognormal").split(data.load("digits"), clients=20)
    >>> sorted(set(data.load("digits").y[partition[3]].tolist()))
    [3, 4]
    """

    labels: int | None = None
    law: Literal["dirichlet", "lognormal"] = "dirichlet"
    alpha: float = 0.5
    sigma: float = 2.0
    preassigned: int = 0
    leftovers: Literal["one", "remainders"] = "one"
    table: Any = None

    def __post_init__(self) -> None:
        positive(alpha=self.alpha, sigma=self.sigma)
        at_least(0, preassigned=self.preassigned)
        if self.labels is not None:
            at_least(1, labels=self.labels)
        if self.law not in ("dirichlet", "lognormal"):
            raise ValueError(f"law: must be 'dirichlet' or 'lognormal', not {self.law!r}")
        if self.leftovers not in ("one", "remainders"):
            raise ValueError(f"leftovers: must be 'one' or 'remainders', not {self.leftovers!r}")
        if self.table is not None:
            object.__setattr__(self, "table", _rows(self.table))

    def holders(self, dataset: Dataset, clients: int, dice: np.random.Generator) -> Holder:
        """Weights, then counts, class by class."""
        y = labels_of(dataset, self.name)
        labels = dataset.classes if self.labels is None else self.labels
        if labels > dataset.classes or labels + clients - 1 < dataset.classes:
            raise ValueError(f"labels: {clients} clients with {labels} each do not fit the {dataset.classes} classes")
        held = (np.arange(dataset.classes) - np.arange(clients)[:, None]) % dataset.classes < labels
        weights = self._weights(held, labels, dice)
        holder = np.empty(len(y), dtype=np.intp)
        for c in range(dataset.classes):
            takers, members = np.flatnonzero(held[:, c]), np.flatnonzero(y == c)
            spare = len(members) - self.preassigned * len(takers)
            if spare < 0:
                raise ValueError(f"preassigned: {len(takers)} clients hold class {c}, which has {len(members)} samples")
            counts = self.preassigned + self._counts(weights[takers, c], spare, dice)
            holder[dice.permutation(members)] = np.repeat(takers, counts)
        return holder

    def _counts(self, weights: Float[np.ndarray, " takers"], spare: int, dice: np.random.Generator) -> np.ndarray:
        if self.leftovers == "remainders":
            return apportion(weights, spare)
        counts = np.floor(weights / weights.sum() * spare).astype(np.int64)
        counts[dice.integers(len(counts))] += spare - counts.sum()
        return np.asarray(counts)

    def _weights(self, held: np.ndarray, labels: int, dice: np.random.Generator) -> Float[np.ndarray, "clients classes"]:
        weights = np.zeros(held.shape)
        if self.table is not None:
            table = np.array(self.table)
            if len(table) != held.shape[1] or (held.sum(axis=0) != table.shape[1]).any():
                raise ValueError(f"table: {table.shape} must be classes × clients that hold each, {held.sum(axis=0).tolist()}")
            weights.T[held.T] = table.ravel()
        elif self.law == "lognormal":
            weights[held] = dice.lognormal(0, self.sigma, int(held.sum()))
        else:
            weights[held] = shares(np.full((len(held), labels), self.alpha), dice).ravel()
        return weights


def _rows(table: ArrayLike) -> tuple[tuple[float, ...], ...]:
    weights = np.asarray(table, dtype=float)
    if weights.ndim != 2 or not np.isfinite(weights).all() or (weights < 0).any() or (weights.sum(axis=1) <= 0).any():
        raise ValueError("table: must have a row a class, of weights from 0 that are not all 0")
    return tuple(tuple(row) for row in weights.tolist())
