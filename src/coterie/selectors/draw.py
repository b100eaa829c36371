"""Draws without replacement, which most selectors make in the end."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from coterie.roster import Ids


def draw(rng: np.random.Generator, candidates: Ids, count: int, weights: Float[np.ndarray, " candidates"] | None = None) -> Ids:
    """Draws distinct candidates one after the other, each in proportion to its weight among those left.

    Returns fewer where there are fewer, in the order drawn. Candidates of weight 0 come last, all alike.

    >>> draw(np.random.default_rng(1), np.array([4, 7, 9]), 2, np.array([0.0, 1.0, 0.0])).tolist()
    [7, 9]
    """
    if weights is None:
        return draw_exp(rng, candidates, count, np.zeros(len(candidates)))
    with np.errstate(divide="ignore"):
        return draw_exp(rng, candidates, count, np.log(weights))


def draw_exp(rng: np.random.Generator, candidates: Ids, count: int, logits: Float[np.ndarray, " candidates"]) -> Ids:
    """The same with weights exp(logits), at any size of these; +∞ comes first, −∞ last, those alike in random order.

    Gumbel noise on the logits and a sort are such a sequence of draws (Yellott, 1977; Efraimidis and Spirakis, 2006).
    """
    noise = rng.gumbel(size=len(candidates))
    order = np.lexsort((-noise, -(logits + noise)))
    return candidates[order[: max(count, 0)]]
