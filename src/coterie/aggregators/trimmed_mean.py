"""The mean without the extremes, coordinate by coordinate."""

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
class TrimmedMean(Aggregator):
    """Takes of each coordinate the mean without its largest and smallest values (Yin et al., 2018).

    ⌊βn⌋ values go at each end, where n replies are heard. Samples do not count, as in the source.
    """

    beta: float = 0.1
    """β, the share of values that goes at each end."""

    def __post_init__(self) -> None:
        if not 0 <= self.beta < 0.5:
            raise ValueError(f"beta: must be in [0, 0.5), not {self.beta!r}")

    def weigh(self, view: View, plan: Plan, replies: Replies, state: Any) -> Statistic:
        return Statistic(plan.support(replies.clients), self.mean)

    def mean(self, models: Float32[np.ndarray, "heard dim"]) -> Float32[np.ndarray, " dim"]:
        """The trimmed mean over the rows.

        >>> TrimmedMean(0.25).mean(np.array([[1], [2], [4], [99]], dtype=np.float32)).tolist()
        [3.0]
        """
        count = len(models)
        cut = int(self.beta * count + 1e-9)
        middle = np.partition(models, [cut, count - 1 - cut], axis=0)[cut : count - cut]
        return np.asarray(middle.mean(axis=0, dtype=np.float64), dtype=np.float32)
