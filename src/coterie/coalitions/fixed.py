"""Coalitions that were made elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.federation import View
from coterie.plan import Coalitions
from coterie.rules import Former


@dataclass(frozen=True)
class Fixed(Former):
    """The same coalitions every round, given by their labels in the order of the clients' keys."""

    labels: tuple[int, ...]
    """For each client the number of its coalition, 0…k−1, or −1 for none."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(int(label) for label in self.labels))
        Coalitions(np.array(self.labels, dtype=np.intp))

    def form(self, view: View, state: Any) -> Coalitions:
        if len(self.labels) != len(view.roster):
            raise ValueError(f"labels: {len(self.labels)} labels for {len(view.roster)} clients")
        return Coalitions(np.array(self.labels, dtype=np.intp))
