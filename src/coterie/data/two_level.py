"""Clients differ in what their samples look like, and within that in their labels: two levels of Dirichlet draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int64
from numpy.typing import NDArray

from coterie.data.clusters import clusters_of
from coterie.data.dataset import Dataset
from coterie.data.features import features_of
from coterie.data.log_dirichlet import log_gamma_draws, normalized
from coterie.data.scheme import Holder, Scheme, at_least, labels_of, positive
from coterie.data.sizes import top_up

Concentration = float | tuple[Any, ...]
"""One number, one a cluster, or one a cluster and class."""


@dataclass(frozen=True)
class TwoLevel(Scheme):
    """The two-level Dirichlet partition (Algorithm 10 of the thesis on coalitions in federated learning, chapter 6).

    1. Features z_i = f(x_i) (Eq. 6.6): `features` is "pca", "random-convolution", "efficientnet", a torch module, a
       function or the rows themselves; see `coterie.data.features`.
    2. `clusters` groups of alike samples (Eq. 6.7) by k-means, or by any `clusterer`.
    3. For each cluster k shares π ~ Dir(α) over the clients (Eq. 6.9), for each class c in it φ ~ Dir(β) (Eq. 6.11).
    4. A sample of cluster k and class c goes to client j with probability ∝ π_j φ_j (Eq. 6.13–6.15).
    5. Clients below `min_size` receive samples from the largest.

    α and β may be numbers, one number a cluster, or tables with a row a cluster and a column a class.

    Where the source is silent: products of small shares underflow, so draws are kept as logarithms and only combined
    weights leave them; how samples are transferred in step 5 (here: one at a time, random ones, always from whoever
    holds most, nobody falling below `min_size`). With small α and β many clients get nothing unless `min_size` says
    otherwise: half of 1,000 clients at α = 0.1, β = 0.01 and five clusters.

    All samples of one cluster and class are dealt by one multinomial draw, so memory is clients × cells, never
    samples × clients.

    >>> import coterie.data as data
    >>> scheme = data.two_level(clusters=5, alpha=0.5, beta=0.1, min_size=3)
    >>> int(scheme.split(data.load("digits"), clients=40, seed=1).sizes.min())
    3
    """

    clusters: int = 10
    alpha: Concentration = 0.5
    beta: Concentration = 0.1
    min_size: int = 0
    features: Any = "pca"
    clusterer: Any = None

    def __post_init__(self) -> None:
        at_least(1, clusters=self.clusters)
        at_least(0, min_size=self.min_size)
        for name in ("alpha", "beta"):
            try:
                value = np.asarray(getattr(self, name), dtype=float)
            except (TypeError, ValueError):
                raise ValueError(f"{name}: must be a number, a row or a table, not {getattr(self, name)!r}") from None
            positive(**{name: value})
            object.__setattr__(self, name, _frozen(value))

    def holders(self, dataset: Dataset, clients: int, dice: np.random.Generator) -> Holder:
        """Features, clusters, draws, repair."""
        y = labels_of(dataset, self.name)
        cluster = clusters_of(features_of(dataset, self.features), self.clusters, dice, self.clusterer)
        shape = (int(cluster.max()) + 1, dataset.classes)
        alpha, beta = _table("alpha", self.alpha, shape), _table("beta", self.beta, shape)
        holder = deal_cells(cluster, y, alpha, beta, clients, dice, np.ndim(self.alpha) == 2)
        return top_up(holder, clients, self.min_size, dice)


def deal_cells(
    cluster: NDArray[np.intp],
    y: Int64[np.ndarray, " samples"],
    alpha: Float[np.ndarray, "clusters classes"],
    beta: Float[np.ndarray, "clusters classes"],
    clients: int,
    dice: np.random.Generator,
    apart: bool = False,
) -> Holder:
    """Steps 3 and 4: one multinomial draw for each cluster and class; `apart` draws π anew for each class."""
    classes = alpha.shape[1]
    cell = cluster * classes + y
    order = dice.permutation(len(y))
    order = order[np.argsort(cell[order], kind="stable")]
    counts = np.bincount(cell, minlength=alpha.size).reshape(alpha.shape)
    dealt = []
    for k in range(len(alpha)):
        log_pi = log_gamma_draws(np.full(clients, alpha[k, 0]), dice)
        for c in np.flatnonzero(counts[k]):
            if apart:
                log_pi = log_gamma_draws(np.full(clients, alpha[k, c]), dice)
            weights = normalized(log_pi + log_gamma_draws(np.full(clients, beta[k, c]), dice))
            dealt.append(np.repeat(np.arange(clients), dice.multinomial(counts[k, c], weights)))
    holder = np.empty(len(y), dtype=np.intp)
    holder[order] = np.concatenate(dealt)
    return holder


def _table(name: str, value: Concentration, shape: tuple[int, int]) -> Float[np.ndarray, "clusters classes"]:
    given = np.asarray(value, dtype=float)
    if given.ndim == 1:
        given = given[:, None]
    if given.ndim > 2 or (given.ndim == 2 and given.shape not in (shape, (shape[0], 1))):
        raise ValueError(f"{name}: {np.shape(value)} does not fit {shape[0]} clusters and {shape[1]} classes")
    return np.broadcast_to(given, shape)


def _frozen(value: NDArray[np.float64]) -> Concentration:
    if value.ndim == 0:
        return float(value)
    return tuple(_frozen(row) for row in value)
