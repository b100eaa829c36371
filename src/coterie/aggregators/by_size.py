"""The mean weighted by samples: FedAvg (McMahan et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.federation import View
from coterie.mixing import Mixing, rows_to_one
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.rules import Aggregator


@dataclass(frozen=True)
class BySize(Aggregator):
    """A reply counts as much as the samples behind it."""

    def weigh(self, view: View, plan: Plan, replies: Replies, state: Any) -> Mixing:
        support = plan.support(replies.clients)
        return rows_to_one(support.multiply(replies.counts[np.newaxis, :].astype(np.float64)).tocsr())
