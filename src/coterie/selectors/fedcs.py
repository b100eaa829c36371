"""As many clients as fit into a round's time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from coterie.federation import View
from coterie.roster import Ids
from coterie.rules import Selector
from coterie.selectors.within_time import NEEDS, Seconds, sending, training


@dataclass(frozen=True)
class FedCS(Selector):
    """Trains as many as can train and send their models one after another in time (Nishio and Yonetani, 2019).

    With Θ the time that the clients taken so far need, client k adds what it lengthens the distribution, its upload, and
    max(0, training − Θ), as others upload while it trains. The client that adds least is taken next, if the round still
    ends in time.

    Where the source is silent: the model is sent to all at once, so distribution takes as long as to the slowest of them.
    The paper asks a random part of the clients for their resources; here they are known. `per_round` bounds the group.
    """

    per_round: int
    """How many train at most."""
    seconds: float = 60.0
    """T_round, the time in which distribution, training and uploads must be done."""
    passes: float = 5.0
    """How often a client goes over its samples: the backbone's epochs."""

    needs: ClassVar[frozenset[str]] = NEEDS

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("per_round", "a whole number from 1", self.per_round >= 1),
            ("seconds", "a number above 0", self.seconds > 0),
            ("passes", "a number above 0", 0 < self.passes < np.inf),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")

    def choose(self, view: View, state: Any) -> Ids:
        there = view.present
        train, send = training(view, there, self.passes), sending(view, there)
        taken, ends = in_time(train, send, self.seconds, self.per_round)
        view.note(there, training=train, sending=send)
        view.note(there[taken], ends=ends)
        return np.sort(there[taken])


def in_time(train: Seconds, send: Seconds, limit: float, most: int) -> tuple[Ids, Seconds]:
    """The clients taken, as rows in their order, and when the round would end with each.

    >>> in_time(np.array([1.0, 9.0, 2.0]), np.array([1.0, 1.0, 1.0]), 6.0, 3)
    (array([0, 2]), array([3., 4.]))
    """
    left = np.arange(len(train))
    taken: list[int] = []
    ends: list[float] = []
    elapsed, distributed = 0.0, 0.0
    while len(left) and len(taken) < most:
        longer = np.maximum(send[left] - distributed, 0.0)
        adds = longer + send[left] + np.maximum(train[left] - elapsed, 0.0)
        best = int(np.argmin(adds))
        if distributed + elapsed + adds[best] > limit:
            break  # nobody else adds less
        distributed, elapsed = float(distributed + longer[best]), float(elapsed + adds[best] - longer[best])
        taken.append(int(left[best]))
        ends.append(distributed + elapsed)
        left = np.delete(left, best)
    return np.array(taken, np.intp), np.array(ends)
