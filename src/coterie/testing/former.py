"""What every former of coalitions promises."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.aggregators import Mean
from coterie.backbones import SGD
from coterie.federation import Steps, View
from coterie.plan import Coalitions, Plan
from coterie.recipe import ByCoalition
from coterie.rules import Former
from coterie.testing.contract import SIZES, Watching, check_fields, check_recipe, demand


def check_former(former: Former, *, rounds: int = 6, seed: int = 0, sizes: tuple[int, ...] = SIZES) -> None:
    """Checks a former of yours, in federations of several sizes, calm and rough.

    Every client has a label, −1 for none, and a coalition that trains is led, if at all, by one who is present.
    Give `sizes` for a former that is made for so many clients.

    >>> from coterie.coalitions import Grand
    >>> check_former(Grand())
    """
    check_fields(former, Former)
    for across in (None, Mean()):
        recipe = ByCoalition(SGD(Steps(epochs=1, batch_size=8, lr=0.1)), Mean(), Watched(former), across=across)
        check_recipe(recipe, _look, rounds=rounds, seed=seed, sizes=sizes)


class Watched(Watching, Former):
    """A former under watch: what it returns is looked at before the recipe builds on it."""

    def form(self, view: View, state: Any) -> Coalitions:
        coalitions: Coalitions = self.rule.form(view, state)
        demand(isinstance(coalitions, Coalitions), f"form returned a {type(coalitions).__name__}, not Coalitions")
        count, clients = len(coalitions.labels), len(view.roster)
        demand(count == clients, f"form returned {count} labels for {clients} clients; those absent need one too (-1 for none)")
        return coalitions


def _look(view: View, plan: Plan) -> None:
    if plan.coalitions is None or plan.coalitions.leaders is None:
        return
    training = np.unique(plan.coalitions.labels[plan.trainers])
    leaders = plan.coalitions.leaders[training]
    away = np.setdiff1d(leaders, view.present)
    demand(not len(away), f"coalitions train whose leaders are not present: {away.tolist()}")
