"""Coalitions by what the roster knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.federation import View
from coterie.plan import Coalitions
from coterie.rules import Former


@dataclass(frozen=True)
class ByColumn(Former):
    """One coalition for each value of a roster column, such as a region or a hospital chain."""

    column: str
    """The roster's column; clients with equal values are together."""

    def form(self, view: View, state: Any) -> Coalitions:
        return Coalitions(np.unique(view.roster[self.column], return_inverse=True)[1])
