"""Questions whose answers can be private: how the loss changes around a model, and a gradient that is blurred."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32
from numpy.typing import NDArray

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


@dataclass(frozen=True)
class Blur:
    """Clips a gradient and adds Gaussian noise before it leaves its client (AFIND+, appendix C.4).

    The gradient of a batch of L samples is scaled down to length `clip` (C₂), then each coordinate gets
    N(0, (noise · clip / L)²), as printed. What is clipped is the batch's gradient as a whole, so one sample may move it
    by 2 · clip, and an answer is (2 L² / noise²)-zCDP: with L = 64 and the paper's noise of 2 to 10 that is no protection
    worth the name. `epsilon` says how much it is; the meter counts it.

    >>> Blur(clip=1.0).release(np.array([3.0, 4.0], np.float32), 10, np.random.default_rng(0))
    array([0.6, 0.8], dtype=float32)
    """

    clip: float = 1.0
    """C₂, the largest length of a gradient that leaves its client."""
    noise: float = 0.0
    """σ₂, the noise in units of `clip` / L; 0 for none."""

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("clip", "a number above 0", 0 < self.clip < np.inf),
            ("noise", "a number from 0", 0 <= self.noise < np.inf),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")

    def release(self, gradient: Float32[np.ndarray, " part"], samples: int, rng: np.random.Generator) -> NDArray[np.float32]:
        """What leaves a client of a gradient over so many samples."""
        length = float(np.sqrt(np.square(gradient, dtype=np.float64).sum()))
        clipped = gradient * (min(1.0, self.clip / length) if length > 0 else 1.0)
        drawn = rng.standard_normal(len(gradient)) if self.noise else np.zeros(len(gradient))
        return np.asarray(clipped + drawn * (self.noise * self.clip / samples), dtype=np.float32)

    def epsilon(self, samples: int, delta: float = 1e-5) -> float:
        """The ε that an answer over so many samples spends at this δ; 0 without noise, as for any exact answer.

        >>> round(Blur(noise=64 * 4).epsilon(64), 2)
        2.52
        """
        if not self.noise:
            return 0.0
        rho = 2 * (samples / self.noise) ** 2
        return float(rho + 2 * np.sqrt(rho * np.log(1 / delta)))
