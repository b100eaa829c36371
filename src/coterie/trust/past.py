"""What an audit remembers of earlier rounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Past:
    """What an audit remembers of earlier rounds: a row a client, sketched. `round` counts the rounds that it judged."""

    round: int
    turns: NDArray[np.int64]
    """In which round each client was judged last; 0 for never."""
    last: Float32[np.ndarray, "clients sketch"]
    """Each client's last believed update."""
    sums: Float32[np.ndarray, "clients sketch"]
    """The sum of each client's believed updates."""
    sent: Float32[np.ndarray, "clients sketch"]
    """The model that each sent last."""
    given: Float32[np.ndarray, "clients sketch"]
    """The model that each was given then."""
    lengths: Floats
    """How long each client's last believed update was; NaN for none."""
    leans: Floats
    """How far each client's updates pointed with what they are like, added up over its rounds; below 0 against it."""
    clocks: Float[np.ndarray, "clients 2"]
    """How long each took beside what it had claimed, the last time that was believed; NaN for never. See `claims`."""
    gauges: Floats
    """Its loss beside how far its model had moved, likewise."""
    model: Float32[np.ndarray, " sketch"]
    """The mean model that was given out last."""
    steps: Float32[np.ndarray, "steps sketch"]
    """Its last steps."""
    honest: NDArray[np.int64]
    """Rounds in which each client was found honest."""
    dishonest: NDArray[np.int64]

    @classmethod
    def none(cls, clients: int) -> Past:
        """Nothing was judged yet."""
        rows, number = np.zeros((clients, 0), np.float32), np.zeros(clients, np.int64)
        return cls(
            round=0,
            turns=number,
            last=rows,
            sums=rows,
            sent=rows,
            given=rows,
            lengths=np.full(clients, np.nan),
            leans=np.zeros(clients),
            clocks=np.full((clients, 2), np.nan),
            gauges=np.full(clients, np.nan),
            model=np.zeros(0, np.float32),
            steps=np.zeros((0, 0), np.float32),
            honest=number,
            dishonest=number,
        )
