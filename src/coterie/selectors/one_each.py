"""One client from each coalition, and who stands in where nobody of a coalition can be reached."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from coterie.coalitions.k_means import squared_distances
from coterie.roster import Ids


def one_each(
    rng: np.random.Generator,
    labels: NDArray[np.intp],
    present: Ids,
    logits: Float[np.ndarray, " present"],
    models: Float[np.ndarray, "clients dims"],
) -> Ids:
    """Draws one present client from each coalition, with odds exp(logits) inside it, at any size of these.

    For a coalition without anybody present, one more is drawn from the coalition with the nearest mean model that still
    has somebody. So there are as many as coalitions unless fewer clients are present.
    """
    ranked = present[np.argsort(-(logits + rng.gumbel(size=len(present))), kind="stable")]
    groups, firsts = np.unique(labels[ranked], return_index=True)
    chosen = ranked[firsts]
    empty = np.setdiff1d(np.arange(labels.max(initial=-1) + 1), groups)
    if not len(empty):
        return np.sort(chosen)
    means = _means(labels, models)
    for far in squared_distances(means[empty], means):
        left = ranked[~np.isin(ranked, chosen)]
        if len(left):
            nearest = far[labels[left]].argmin()
            chosen = np.append(chosen, left[nearest])
    return np.sort(chosen)


def _means(labels: NDArray[np.intp], models: Float[np.ndarray, "clients dims"]) -> NDArray[np.float64]:
    means = np.zeros((int(labels.max()) + 1, models.shape[1]))
    np.add.at(means, labels, models)
    return means / np.bincount(labels)[:, np.newaxis]
