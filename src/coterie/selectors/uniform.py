"""Random choice, what every federated framework does by default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.federation import View
from coterie.roster import Ids
from coterie.rules import Selector
from coterie.selectors.draw import draw


@dataclass(frozen=True)
class Uniform(Selector):
    """Trains a few drawn at random, every client alike or in proportion to its samples (McMahan et al., 2017)."""

    per_round: int
    """How many train in a round."""
    by_size: bool = False
    """Draws clients in proportion to their samples."""

    def __post_init__(self) -> None:
        if self.per_round < 1:
            raise ValueError(f"per_round: must be a whole number from 1, not {self.per_round!r}")

    def choose(self, view: View, state: Any) -> Ids:
        weights = view.roster.share(view.present) if self.by_size else None
        return np.sort(draw(view.rng, view.present, self.per_round, weights))
