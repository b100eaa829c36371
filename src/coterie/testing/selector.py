"""What every selector promises."""

from __future__ import annotations

import numpy as np

from coterie.aggregators import Mean
from coterie.backbones import SGD
from coterie.federation import Steps, View
from coterie.plan import Plan
from coterie.recipe import Central
from coterie.roster import Ids
from coterie.rules import Selector, State
from coterie.testing.contract import Watching, check_fields, check_recipe, demand


def check_selector(selector: Selector, *, rounds: int = 6, seed: int = 0) -> None:
    """Checks a selector of yours; ContractError, an AssertionError, says what it does that it must not.

    It plays with 0, 1 and 12 clients, once where all is well and once where clients are absent, give no answers, send
    no replies or broken ones. Give it enough rounds to come through its warm-up.

    >>> from coterie.selectors import Uniform
    >>> check_selector(Uniform(per_round=3))
    """
    check_fields(selector, Selector)
    recipe = Central(SGD(Steps(epochs=1, batch_size=8, lr=0.1)), Mean(), Watched(selector))
    check_recipe(recipe, _look, rounds=rounds, seed=seed)


class Watched(Watching, Selector):
    """A selector under watch: what it returns is looked at before the plan sorts it."""

    def choose(self, view: View, state: State) -> Ids:
        chosen = np.asarray(self.rule.choose(view, state))
        _demand_clients("choose", chosen, view)
        most = getattr(self.rule, "per_round", None)
        demand(most is None or len(chosen) <= most, f"choose returned {len(chosen)} clients where per_round is {most}")
        return chosen.astype(np.intp)

    def try_out(self, view: View, state: State) -> Ids:
        tried = np.asarray(self.rule.try_out(view, state))
        _demand_clients("try_out", tried, view)
        return tried.astype(np.intp)


def _demand_clients(moment: str, ids: Ids, view: View) -> None:
    demand(ids.ndim == 1, f"{moment} returned an array of {ids.ndim} dimensions, not a list of clients")
    demand(ids.dtype.kind in "iu" or not len(ids), f"{moment} returned {ids.dtype} values, not ids of clients")
    demand(len(np.unique(ids)) == len(ids), f"{moment} returned a client twice: {sorted(ids.tolist())}")
    strangers = np.setdiff1d(ids, view.present)
    demand(not len(strangers), f"{moment} returned clients who are not present: {strangers.tolist()}")


def _look(view: View, plan: Plan) -> None:
    unknown = np.setdiff1d(plan.why.candidates, view.roster.ids)
    demand(not len(unknown), f"view.note was given candidates that are no clients: {unknown.tolist()}")
