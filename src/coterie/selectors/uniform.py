"""Random choice, what every federated framework does by default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.federation import View
from coterie.roster import Ids
from coterie.rules import Selector


@dataclass(frozen=True)
class Uniform(Selector):
    """Trains a few drawn at random, every client alike or in proportion to its samples (McMahan et al., 2017)."""

    per_round: int
    by_size: bool = False

    def choose(self, view: View, state: Any) -> Ids:
        count = min(self.per_round, len(view.present))
        chances = view.roster.share(view.present) if self.by_size else None
        return np.sort(view.rng.choice(view.present, count, replace=False, p=chances))
