"""The plain mean of what a target may hear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from coterie.federation import View
from coterie.mixing import Mixing, rows_to_one
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.rules import Aggregator


@dataclass(frozen=True)
class Mean(Aggregator):
    """Every reply counts the same, however many samples are behind it."""

    def weigh(self, view: View, plan: Plan, replies: Replies, state: Any) -> Mixing:
        return rows_to_one(plan.support(replies.clients))
