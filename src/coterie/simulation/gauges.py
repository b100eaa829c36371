"""What the gauges of simulated devices read: how much of its machine each gives to a training.

A device that works gives 0.7 of each resource, 10 % more or less from moment to moment; one that saves itself work gives as
much less. Gauges tell the mean of a round's ten moments.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.plan import USE
from coterie.simulation import dice

USUAL, SPREAD, HICCUP, MOMENTS, RESTING = 0.7, 0.1, 0.1, 10, 0.02
"""What a device that works gives; how far readings vary about that; what a hiccup leaves of one; readings in a round; and
what is read of a device that does nothing."""


def readings(seed: int, round: int, efforts: NDArray[np.float64], hiccups: float) -> NDArray[np.float64]:
    """What the gauges read, clients × resources, by the share of its work that each client does."""
    thrown = dice.world(seed, "use", round)
    around = 1 + SPREAD * thrown.standard_normal((len(efforts), len(USE), MOMENTS))
    stops = np.where(thrown.random((len(efforts), 1, MOMENTS)) < hiccups, HICCUP, 1.0)
    given = np.maximum(USUAL * efforts[:, np.newaxis, np.newaxis] * stops, RESTING)
    return np.asarray(np.clip(given * around, 0, 1).mean(axis=-1))
