"""The median, coordinate by coordinate."""

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
class Median(Aggregator):
    """Takes of each coordinate the median, which fewer than half of the replies cannot carry away (Yin et al., 2018).

    Of an even number it is the mean of the middle two. Samples do not count, as in the source.
    """

    def weigh(self, view: View, plan: Plan, replies: Replies, state: Any) -> Statistic:
        return Statistic(plan.support(replies.clients), median)


def median(models: Float32[np.ndarray, "heard dim"]) -> Float32[np.ndarray, " dim"]:
    """The median over the rows.

    >>> median(np.array([[1, 5], [2, 4], [9, 9]], dtype=np.float32)).tolist()
    [2.0, 5.0]
    """
    return np.asarray(np.median(models, axis=0), dtype=np.float32)
