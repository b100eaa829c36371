"""Who would learn with whom, if each wants a small error of its own: the model-sharing game of Donahue and Kleinberg.

A threshold T = μ_e/σ² says it all for mean estimation under uniform sharing: the number of samples at which a player's own
noise μ_e/n is as large as the variance σ² between players. With all sizes at most T the grand coalition is core stable; with
all sizes at least T being alone is. In between, the small ones are together and the rest alone.

With the best fine weights (in practice with the best coarse ones too) the grand coalition is the only stable structure, so the
game says something under uniform sharing only, whatever the coalition does with its models later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from coterie.coalitions.dynamics import Course, better_response
from coterie.coalitions.optimal_sharing import optimal_partition, price_of_anarchy, total_error
from coterie.coalitions.seating import Admission, Labels
from coterie.coalitions.stability import certified
from coterie.coalitions.uniform_sharing import UniformSharing
from coterie.federation import View
from coterie.plan import Coalitions
from coterie.rules import Former

ANARCHY_PLAYERS = 5
"""The worst stable structure is looked for up to this many players: 52 structures."""


@dataclass(frozen=True)
class ErrorHedonic(Former):
    """Clients move to the coalition in which their error would be smallest, until none improves.

    Moves start from the partition with the smallest total error. Errors are those of uniform sharing. Clients that are not
    present are in no coalition. The certificate also holds the optimal partition of those present (`optimal`, in their
    order), the total error found over the smallest (`error_over_optimum`) and, for few players, the worst that any stable
    structure has (`price_of_anarchy`).
    """

    threshold: float
    """T = μ_e/σ², in samples."""
    stability: Literal["nash", "individual"] = "nash"
    """'individual': a coalition lets in only whom no member loses by. 'nash': nobody is asked."""
    column: str = "size"
    """The roster's column of sizes; those below 1 count as 1."""
    max_sweeps: int = 100

    def __post_init__(self) -> None:
        if self.stability not in ("nash", "individual"):
            raise ValueError(f"stability: must be 'nash' or 'individual', not {self.stability!r}")
        UniformSharing(np.ones(1), self.threshold)

    def form(self, view: View, state: Any) -> Coalitions:
        sizes = np.maximum(view.roster[self.column][view.present].astype(np.float64), 1)
        game = UniformSharing(sizes, self.threshold)
        admission = Admission("free" if self.stability == "nash" else "individual")
        best = optimal_partition(sizes, self.threshold)
        course = better_response(game, best, admission, max_sweeps=self.max_sweeps)
        facts = {"threshold": self.threshold, "error_over_optimum": self._price(sizes, course, best)}
        if 0 < len(sizes) <= ANARCHY_PLAYERS:
            facts["price_of_anarchy"] = price_of_anarchy(sizes, self.threshold, self.stability)
        found = certified(course, game, admission, optimal=best.tolist(), **facts)
        labels = np.full(len(view.roster), -1, np.intp)
        labels[view.present] = found.labels
        return Coalitions(labels, certificate=found.certificate)

    def _price(self, sizes: NDArray[np.float64], course: Course, best: Labels) -> float:
        least = total_error(sizes, best, self.threshold)
        return total_error(sizes, course.labels, self.threshold) / least if least else 1.0
