"""A question about a client itself, whose answer leaves it in bounds and under noise only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

Number = Literal["size", "loss", "training_loss", "gradient", "gap", "spread"]
"""What a client can tell of itself; see `Report`."""
Noise = Literal["simple", "vetted"]


@dataclass(frozen=True)
class Bounded:
    """A number between two bounds that are public, and the privacy that telling it once may spend.

    >>> Bounded("size", most=500, epsilon=1.0).scale
    500.0
    """

    number: Number
    least: float = 0.0
    most: float = 1.0
    epsilon: float = np.inf
    """Infinite for the exact number, in its bounds."""

    def __post_init__(self) -> None:
        if self.number not in get_args(Number):
            raise ValueError(f"number: must be one of {', '.join(get_args(Number))}, not {self.number!r}")
        if not -np.inf < self.least < self.most < np.inf:
            raise ValueError(f"{self.number}: bounds must be finite, the lower one first, not {self.least!r} and {self.most!r}")
        if not self.epsilon > 0:
            raise ValueError(f"epsilon: must be a number above 0, not {self.epsilon!r}")

    @property
    def scale(self) -> float:
        """That of the Laplace noise: how far two clients' numbers can be apart, over ε; 0 for the exact number."""
        return (self.most - self.least) / self.epsilon


@dataclass(frozen=True)
class Report:
    """Some numbers that a client tells of itself, each put into its bounds and given Laplace noise before it leaves.

    Whatever data a client holds, its answer is then ε-private for all of them at once, where ε is the sum over the
    numbers. The numbers are

    - `size`: how many samples it trains on; `gradient`: the length of the gradient of its mean training loss;
    - `loss`, `training_loss`: its mean loss on samples held out, and on those it trains on;
    - `gap`: half of what its squared error on samples held out is more than on those it trains on; of two equal halves of
      one population this estimates how far learning from so few samples has led astray;
    - `spread`: the variance of the predictions of all models among the replies, on its samples held out.

    The last two are of predictions; for classes these are probabilities, whose squared error (the Brier score) is summed
    over the classes.

    A client that is asked again for the same numbers on the same occasion about the same model repeats its answer, noise
    and all, and spends nothing. One that would have spent more than `cap` in all does not answer.
    """

    numbers: tuple[Bounded, ...]
    occasion: int = 0
    """Asked again on the same occasion a client repeats itself: 0 for what is told once in its life, else the round."""
    noise: Noise = "simple"
    """'vetted': by OpenDP, safe in floating point, from the operating system's dice. 'simple': by NumPy, from dice with an
    address, so that runs repeat; made for simulations."""
    cap: float = np.inf
    """The privacy that a client may spend in all."""

    def __post_init__(self) -> None:
        if not self.numbers or len({one.number for one in self.numbers}) < len(self.numbers):
            raise ValueError("report: must ask for one number at least, and for none twice")
        if self.noise not in get_args(Noise):
            raise ValueError(f"noise: must be 'simple' or 'vetted', not {self.noise!r}")
        if not self.cap > 0:
            raise ValueError(f"cap: must be a number above 0, not {self.cap!r}")

    @property
    def epsilon(self) -> float:
        """What one answer spends: the sum over the numbers, those that are exact left out."""
        return sum(one.epsilon for one in self.numbers if np.isfinite(one.epsilon))

    @property
    def names(self) -> tuple[Number, ...]:
        """Which numbers, in order."""
        return tuple(one.number for one in self.numbers)

    @property
    def about_models(self) -> bool:
        """Whether a model is needed to answer."""
        return self.names != ("size",)

    def bounded(self, truth: Float[np.ndarray, "*clients numbers"]) -> Float[np.ndarray, "*clients numbers"]:
        """True numbers put into their bounds; what is no number is the lower bound."""
        least, most = (np.array([getattr(one, end) for one in self.numbers]) for end in ("least", "most"))
        return np.asarray(np.clip(np.where(np.isnan(truth), least, truth), least, most), np.float64)
