"""One row a round: what was decided, what really happened, what it cost and how good it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import sparse

from coterie.federation import Federation, Scores, View
from coterie.mixing import Merge
from coterie.plan import Coalitions, Plan, Why
from coterie.replies import Meter, Replies
from coterie.roster import Ids


@dataclass(frozen=True, eq=False)
class Record:
    """A round, for people and files. Available, asked, answered and used are four different things."""

    round: int
    available: Ids
    asked: Ids
    answered: Ids
    """Whose reply arrived and was accepted."""
    used: Ids
    """Whose reply had weight."""
    rejected: Mapping[int, str]
    lost: Mapping[int, str]
    doubted: Mapping[int, str]
    """Whose reply was accepted but not believed, with the reason."""
    facts: Mapping[str, Float[np.ndarray, " answered"]]
    """What the replies said of the training, in the order of `answered`."""
    meter: Meter
    duration: float
    """Virtual seconds that the round took."""
    seconds: float
    """Real seconds, evaluation aside."""
    scores: Scores | None = None
    why: Why = field(default_factory=Why)
    coalitions: Coalitions | None = None
    merge: Merge | None = None
    """What became of the replies."""
    listening: sparse.csr_array | None = None
    """Where there is no server, clients × clients: how much of each one's model is what the other trained."""
    state: Any = None
    """The recipe's state after the round: pass it to `play` to go on."""

    @classmethod
    def of(
        cls, view: View, plan: Plan, replies: Replies, merge: Merge, federation: Federation, state: Any, seconds: float
    ) -> Record:
        """Writes down a round that is over."""
        return cls(
            round=view.round,
            available=view.present,
            asked=plan.trainers,
            answered=replies.clients,
            used=replies.clients[merge.uses()],
            rejected=replies.rejected,
            lost=replies.lost,
            doubted=merge.doubted,
            facts=replies.facts,
            meter=federation.meter(),
            duration=replies.duration,
            seconds=seconds,
            scores=federation.scores(),
            why=plan.why,
            coalitions=plan.coalitions,
            merge=merge,
            listening=_listening(view, plan, replies, merge),
            state=state,
        )

    @property
    def accuracy(self) -> float:
        """On the global test set; NaN in a round that was not evaluated."""
        return float("nan") if self.scores is None else self.scores.accuracy

    @property
    def loss(self) -> float:
        """On the global test set; NaN in a round that was not evaluated."""
        return float("nan") if self.scores is None else self.scores.loss


def _listening(view: View, plan: Plan, replies: Replies, merge: Merge) -> sparse.csr_array | None:
    shares = merge.shares if plan.route == "peers" else None
    if shares is None:
        return None
    cells, count = shares.tocoo(), len(view.roster)
    return sparse.csr_array((cells.data, (cells.row, replies.clients[cells.col])), shape=(count, count))
