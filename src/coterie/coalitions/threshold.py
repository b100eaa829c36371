"""How many samples a client needs before learning alone is as good as learning together: μ_e/σ², as it can be seen.

The theory has a threshold T = μ_e/σ²: how noisy a sample is, over how different the clients are. `Sights` says what can be
measured of either; the readings differ in their units.

- `sum` is the appendix of PrivShare (its Eq. 42–54): the mean loss over the squared distance of models. That is no number
  of samples; it falls with the number of parameters and changes with the units of the inputs.
- `per-coordinate` divides the distance by the number of parameters D. It still changes with the units of the inputs.
- `function` (ours) looks at predictions. What the squared error on samples held out is more than on those trained on is
  twice the error of having estimated from n samples, so the mean of n · gap is μ_e, times D for a linear model; and
  models' predictions vary by σ², times D, plus that same error, which is taken off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

Reading = Literal["function", "sum", "per-coordinate"]


@dataclass(frozen=True)
class Sight:
    """What one round shows of μ_e and σ²."""

    noise: float
    """μ_e."""
    variance: float
    """σ²."""


def by_function(
    sizes: Float[np.ndarray, " members"],
    gaps: Float[np.ndarray, " members"],
    spreads: Float[np.ndarray, " members"],
) -> Sight:
    """The reading of predictions: mean of n · gap, and mean spread less mean gap.

    >>> by_function(np.array([10.0, 10.0]), np.array([0.5, 0.7]), np.array([1.0, 1.2]))
    Sight(noise=6.0, variance=0.5000000000000001)
    """
    return Sight(float((sizes * gaps).mean()), float(spreads.mean() - gaps.mean()))


def by_parameters(
    losses: Float[np.ndarray, " members"], models: Float[np.ndarray, "members dim"], reading: Reading = "sum"
) -> Sight:
    """The readings of parameters: mean loss, and Σ‖θ_j − θ̄‖²/(m − 1), divided by D or not.

    >>> by_parameters(np.array([2.0, 4.0]), np.array([[0.0, 0.0], [2.0, 2.0]]))
    Sight(noise=3.0, variance=4.0)
    """
    apart = float(models.astype(np.float64).var(axis=0, ddof=1).sum()) if len(models) > 1 else 0.0
    return Sight(float(losses.mean()), apart / models.shape[1] if reading == "per-coordinate" else apart)
