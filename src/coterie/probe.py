"""A question about a model's surroundings: how the loss changes when the last layer moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32

from coterie import seeds


@dataclass(frozen=True)
class Probe:
    """Moves a model's last layer along random directions; the answer is one change of the loss a direction.

    The directions come from a shared seed, so that none of them travels: a client needs the model and these fields.

    With a finite `epsilon` a client answers under local differential privacy: before anything leaves it, its changes
    are scaled down until the sum of their sizes is at most `clip`, and each gets Laplace noise of scale
    2 · clip / epsilon. Whatever data a client holds, its answers then differ by at most 2 · clip in that sum, so one
    answer is epsilon-private for all of the client's data at once; answering twice spends twice. The noise is the
    textbook's, drawn in floating point: it is not hardened against attacks on the last bits of a number.

    >>> Probe(seed=1, directions=2, step=0.05).moves(3).shape
    (2, 3)
    """

    seed: int
    directions: int = 60
    step: float = 0.05
    """How far each coordinate of the last layer moves: the standard deviation of a direction's entries."""
    clip: float = 10.0
    """The largest sum of sizes of a client's changes that leaves it; used with a finite `epsilon` only."""
    epsilon: float = np.inf
    """The privacy that one client's answer may spend; infinite for exact answers."""

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("directions", "a whole number from 1", self.directions >= 1),
            ("step", "a number above 0", 0 < self.step < np.inf),
            ("clip", "a number above 0", 0 < self.clip < np.inf),
            ("epsilon", "a number above 0", self.epsilon > 0),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")

    @property
    def private(self) -> bool:
        """Whether answers are noised."""
        return bool(np.isfinite(self.epsilon))

    def moves(self, size: int) -> Float32[np.ndarray, "directions size"]:
        """What is added to a last layer of this size, one row a direction."""
        drawn = seeds.rng(self.seed, "probe").standard_normal((self.directions, size), dtype=np.float32)
        return drawn * np.float32(self.step)

    def release(self, changes: Float[np.ndarray, " directions"], rng: np.random.Generator) -> Float[np.ndarray, " directions"]:
        """What leaves a client of its changes: all of them, or clipped and noised with dice that only it throws.

        >>> Probe(seed=1, directions=2).release(np.array([0.1, -0.2]), np.random.default_rng(0))
        array([ 0.1, -0.2])
        """
        if not self.private:
            return changes
        bounded = np.nan_to_num(changes, nan=0.0, posinf=self.clip, neginf=-self.clip)
        bounded = bounded * min(1.0, self.clip / max(float(np.abs(bounded).sum()), 1e-300))
        return np.asarray(bounded + rng.laplace(scale=2 * self.clip / self.epsilon, size=bounded.shape))
