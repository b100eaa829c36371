"""Each client is with the model that suits its data best: the clusters of IFCA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.federation import View
from coterie.plan import Coalitions
from coterie.rules import Former


@dataclass(frozen=True)
class Ifca(Former):
    """Sends all models to those who take part, each of whom joins the one with the lowest loss (Ghosh et al., 2020).

    Algorithm 1 with model averaging: in every round participants are drawn, get the k models, estimate their cluster
    ĵ = argmin_j F_i(θ_j) on their own training data and train θ_ĵ; each model becomes the average of what was made of it. So
    it belongs into a recipe that draws participants first (`ByCoalition` with `chosen_first`): everybody who is present in the
    view is asked, at the price of k models down and k losses up. The others stay where they were.

    Ours: the source begins with k random models. Here all models begin as the federation's one, and in the first round
    clients are dealt to them at random, evenly; what they make of them differs. A model that everybody has left is gone, so
    k can shrink (from a bad beginning, to one); in the source it stays, unchanged. Whoever cannot answer stays; a tie goes to
    the first model.
    """

    groups: int = 4
    """k, how many models."""

    def __post_init__(self) -> None:
        if self.groups < 1:
            raise ValueError(f"groups: must be a whole number from 1, not {self.groups!r}")

    def form(self, view: View, state: Any) -> Coalitions:
        labels = self._dealt(view) if view.round == 1 else joined(view)
        rows = np.zeros_like(labels) if view.round == 1 else labels
        kept, first, labels = np.unique(labels, return_index=True, return_inverse=True)
        return Coalitions(labels.astype(np.intp), goes_on=rows[first].astype(np.intp) if len(kept) else None)

    def _dealt(self, view: View) -> NDArray[np.intp]:
        """Who is there is dealt first, so that every model is trained."""
        away = np.setdiff1d(view.roster.ids, view.present)
        dealt = np.concatenate([view.rng.permutation(view.present), view.rng.permutation(away)])
        labels = np.empty(len(view.roster), np.intp)
        labels[dealt] = np.arange(len(dealt)) % self.groups
        return labels


def joined(view: View) -> NDArray[np.intp]:
    """For each client the model that it follows from now on; who is present looks at all of them."""
    labels, models = view.follows.astype(np.intp), len(view.models)
    if models < 2 or not len(view.present):
        return labels
    asked = np.repeat(view.present, models)
    losses = view.ask.losses(asked, np.tile(np.arange(models), len(view.present)), split="train").reshape(-1, models)
    answered = np.isfinite(losses).all(axis=1)
    labels[view.present[answered]] = losses[answered].argmin(axis=1)
    return labels
