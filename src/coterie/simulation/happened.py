"""What the world really did, so that a switch that does nothing cannot go unnoticed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from coterie.plan import Plan
from coterie.replies import Replies


@dataclass(frozen=True)
class Happened:
    """Counts over all rounds so far.

    >>> print(Happened(rounds=2, clients=4, present=6, asks=8, answered=5, unanswered={"late": 2, "rejected": 1}))
    2 rounds: 75 % of clients present, 38 % of asks unanswered (25 % late, 12 % rejected)
    """

    rounds: int = 0
    clients: int = 0
    present: int = 0
    """Summed over rounds."""
    asks: int = 0
    """Clients asked to train."""
    answered: int = 0
    """Of those the ones whose reply was accepted."""
    unanswered: Mapping[str, int] = field(default_factory=dict)
    """The others by reason; 'rejected' counts those who answered but were not believed."""
    questions: int = 0
    unanswered_questions: int = 0

    def after(self, plan: Plan, replies: Replies) -> Happened:
        """With one more training."""
        there = set(replies.clients.tolist())
        reasons = {**dict.fromkeys(replies.rejected, "rejected"), **replies.lost}
        counts = dict(self.unanswered)
        for client, reason in reasons.items():
            if client not in there:
                counts[reason] = counts.get(reason, 0) + 1
        return replace(
            self,
            asks=self.asks + len(plan.trainers),
            answered=self.answered + len(there),
            unanswered=dict(sorted(counts.items())),
        )

    def opened(self, present: int) -> Happened:
        """With one more round."""
        return replace(self, rounds=self.rounds + 1, present=self.present + present)

    def questioned(self, asked: int, unanswered: int) -> Happened:
        """With more questions."""
        return replace(self, questions=self.questions + asked, unanswered_questions=self.unanswered_questions + unanswered)

    def state(self) -> dict[str, Any]:
        """As plain values."""
        return {**vars(self), "unanswered": dict(self.unanswered)}

    def __str__(self) -> str:
        there = _percent(self.present, self.rounds * self.clients)
        missing = _percent(self.asks - self.answered, self.asks)
        reasons = ", ".join(f"{_percent(count, self.asks)} {reason}" for reason, count in self.unanswered.items())
        questions = _percent(self.unanswered_questions, self.questions)
        return (
            f"{self.rounds} rounds: {there} of clients present, {missing} of asks unanswered"
            + (f" ({reasons})" if reasons else "")
            + (f", {questions} of {self.questions} questions unanswered" if self.questions else "")
        )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "0 %"
