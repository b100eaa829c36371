"""The mean of sparse models, coordinate by coordinate over those that use it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32

from coterie.federation import View
from coterie.mixing import Statistic
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.rules import Aggregator


@dataclass(frozen=True)
class MaskedMean(Aggregator):
    """Averages each coordinate over the models in which it is not zero; zero where it is in none (Dai et al., 2022).

    The masks need not be sent: they show in the zeros. Cutting the mean to one's own mask is left to the backbone.
    """

    def weigh(self, view: View, plan: Plan, replies: Replies, state: Any) -> Statistic:
        return Statistic(plan.support(replies.clients), masked_mean)


def masked_mean(models: Float32[np.ndarray, "heard dim"]) -> Float32[np.ndarray, " dim"]:
    """Sums over counts of what is not zero.

    >>> masked_mean(np.array([[1, 0, 0], [3, 4, 0]], dtype=np.float32)).tolist()
    [2.0, 4.0, 0.0]
    """
    users = np.count_nonzero(models, axis=0)
    return np.asarray(models.sum(axis=0, dtype=np.float64) / np.maximum(users, 1), dtype=np.float32)
