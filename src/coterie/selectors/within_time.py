"""How long clients will take, from what is known of their devices and of the rounds before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from coterie.federation import View
from coterie.replies import Replies
from coterie.roster import Ids

Seconds = NDArray[np.float64]
NEEDS = frozenset({"speed", "bandwidth"})


def training(view: View, clients: Ids, passes: float) -> Seconds:
    """Seconds that clients train, going over their samples so often."""
    return np.asarray(passes * view.roster["size"][clients] / np.maximum(view.roster["speed"][clients], 1e-12))


def sending(view: View, clients: Ids) -> Seconds:
    """Seconds that one model takes from or to clients."""
    return np.asarray(4 * view.layout.size / np.maximum(view.roster["bandwidth"][clients], 1e-12))


@dataclass(frozen=True, eq=False)
class Forecast:
    """A linear regression of replies' seconds on 1, training and sending, kept as its normal equations."""

    gram: Float[np.ndarray, "3 3"]
    moment: Float[np.ndarray, " 3"]

    @classmethod
    def first(cls) -> Forecast:
        """Before any reply: training once and sending twice, held as firmly as one reply of a second would."""
        return cls(np.eye(3), np.array([0.0, 1.0, 2.0]))

    def seconds(self, view: View, clients: Ids, passes: float) -> Seconds:
        """What clients are expected to take; never less than nothing."""
        return np.asarray(np.maximum(_features(view, clients, passes) @ np.linalg.solve(self.gram, self.moment), 0.0))

    def after(self, view: View, replies: Replies, passes: float) -> Forecast:
        """With a round's replies."""
        known = np.isfinite(replies.seconds)
        x = _features(view, replies.clients[known], passes)
        return Forecast(self.gram + x.T @ x, self.moment + x.T @ replies.seconds[known])


def _features(view: View, clients: Ids, passes: float) -> Float[np.ndarray, "clients 3"]:
    return np.column_stack([np.ones(len(clients)), training(view, clients, passes), sending(view, clients)])
