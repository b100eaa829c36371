"""Those that lie among most others: Krum and multi-Krum (Blanchard et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Float32
from numpy.typing import NDArray
from scipy import sparse

from coterie.federation import View
from coterie.mixing import Mixing, rows_to_one
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.rules import Aggregator


@dataclass(frozen=True)
class Krum(Aggregator):
    """Keeps the reply that is closest to its nearest others, or the mean of the few such (Blanchard et al., 2017).

    Of n replies, f of which may be broken, each is scored by the sum of squared distances to its n−f−2 nearest
    others; the m with the lowest scores are averaged, all alike: m = 1 is Krum, more is multi-Krum. Ties fall by key.

    The source gives f as a number and asks for n > 2f + 2. Replies vary here from round to round and from target to
    target, so f is ⌊share · n⌋; where n is too small for a score, one nearest other is looked at all the same, and
    of two replies the first is kept.
    """

    broken: float = 0.2
    """The share of replies that may be broken."""
    keep: int = 1
    """m, how many replies are averaged; never more than n−f."""

    def __post_init__(self) -> None:
        if not 0 <= self.broken < 0.5:
            raise ValueError(f"broken: must be in [0, 0.5), not {self.broken!r}")
        if self.keep < 1:
            raise ValueError(f"keep: must be a whole number from 1, not {self.keep!r}")

    def weigh(self, view: View, plan: Plan, replies: Replies, state: Any) -> Mixing:
        heard = plan.support(replies.clients).tolil()
        far = distances(replies.models)
        chosen = sparse.lil_array(heard.shape)
        for target, row in enumerate(heard.rows):
            if row:
                chosen[target, np.array(row)[self.best(far[np.ix_(row, row)])]] = 1.0
        return rows_to_one(chosen.tocsr())

    def best(self, far: Float[np.ndarray, "heard heard"]) -> NDArray[np.intp]:
        """Which of the replies between which these squared distances lie are kept."""
        count = len(far)
        broken = int(self.broken * count + 1e-9)
        others = np.sort(far, axis=1)[:, 1 : 1 + max(count - broken - 2, 1)]
        return np.argsort(others.sum(axis=1), kind="stable")[: min(self.keep, count - broken)]


def distances(models: Float32[np.ndarray, "replies dim"]) -> Float[np.ndarray, "replies replies"]:
    """Squared distances between the rows.

    >>> distances(np.array([[0, 0], [3, 4]], dtype=np.float32)).tolist()
    [[0.0, 25.0], [25.0, 0.0]]
    """
    centered = models.astype(np.float64)
    centered -= centered.mean(axis=0) if len(models) else 0.0
    squares = np.einsum("ij,ij->i", centered, centered)
    far = np.maximum(squares[:, None] + squares[None, :] - 2 * centered @ centered.T, 0.0)
    np.fill_diagonal(far, 0.0)
    return np.asarray(far)
