"""Whose device fails in a round, when, and how long it stays away: pure functions of seed and round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.simulation import dice

STAGES = ("before", "during", "after")


@dataclass(frozen=True)
class Failures:
    """Chances, in each round, that a device fails before training, during it, or after it, before its reply is out.

    A failed device stays away for the following 1 … 2·recovery − 1 rounds, `recovery` in the mean, or none if that is 0.
    """

    rates: tuple[float, float, float]
    recovery: int

    def stage(self, seed: int, round: int, clients: int) -> NDArray[np.intp]:
        """For each client the stage at which it fails this round, −1 for one that does not."""
        if not any(self.rates):
            return np.full(clients, -1, dtype=np.intp)
        thrown = dice.world(seed, "failures", round).random(clients)
        stage = np.searchsorted(np.cumsum(self.rates), thrown, side="right")
        return np.where(stage < len(self.rates), stage, -1)

    def away(self, seed: int, round: int, clients: int) -> NDArray[np.bool_]:
        """Who is still away after an earlier failure."""
        away = np.zeros(clients, dtype=bool)
        longest = 2 * self.recovery - 1
        for earlier in range(max(round - longest, 1), round):
            lasts = dice.world(seed, "recovery", earlier).integers(1, longest, size=clients, endpoint=True)
            away |= (self.stage(seed, earlier, clients) >= 0) & (earlier + lasts >= round)
        return away
