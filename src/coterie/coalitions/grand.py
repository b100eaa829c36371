"""Everybody together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.federation import View
from coterie.plan import Coalitions
from coterie.rules import Former


@dataclass(frozen=True)
class Grand(Former):
    """One coalition of all clients: federated learning as usual, and what any other partition is measured against."""

    def form(self, view: View, state: Any) -> Coalitions:
        return Coalitions(np.zeros(len(view.roster), dtype=np.intp))
