"""What every reporter promises."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coterie.aggregators import BySize
from coterie.backbones import SGD
from coterie.federation import Steps, View
from coterie.plan import Coalitions, Plan
from coterie.recipe import Personal
from coterie.replies import Replies
from coterie.roster import Roster
from coterie.rules import Former, Reporter
from coterie.selectors import Uniform
from coterie.testing.contract import Watching, check_fields, check_recipe, demand, same


def check_reporter(reporter: Reporter, *, rounds: int = 6, seed: int = 0) -> None:
    """Checks a reporter of yours in whole rounds, calm and rough.

    The roster that it makes has the same clients, with finite sizes above 0 for those who told; asked twice in a round it
    makes the same one, and nothing more is spent; replies keep their clients and models.

    >>> from coterie.privacy import Volumes
    >>> check_reporter(Volumes(epsilon=1.0))
    """
    check_fields(reporter, Reporter)
    recipe = Personal(SGD(Steps(epochs=1, batch_size=8, lr=0.1)), BySize(), Uniform(4), Together(), Watched(reporter))
    check_recipe(recipe, lambda view, plan: None, rounds=rounds, seed=seed)


@dataclass(frozen=True)
class Together(Former):
    """Everybody together."""

    def form(self, view: View, state: Any) -> Coalitions:
        return Coalitions(np.zeros(len(view.roster), np.intp))


class Watched(Watching, Reporter):
    """A reporter under watch."""

    def known(self, view: View, state: Any) -> Roster:
        made: Roster = self.rule.known(view, state)
        spent = _spent(view)
        again: Roster = self.rule.known(view, state)
        demand(isinstance(made, Roster), f"known returned a {type(made).__name__}, not a Roster")
        demand(made.keys == view.roster.keys, "known returned other clients")
        sizes = made["size"].astype(np.float64)
        demand(np.isfinite(sizes).all() and (sizes >= 0).all(), "sizes must be finite and not negative")
        demand(same(dict(made.columns), dict(again.columns)), "asked twice in a round it knows another roster")
        demand(_spent(view) == spent, "asked twice in a round it spends privacy twice")
        return made

    def report(self, view: View, plan: Plan, replies: Replies, state: Any) -> Replies:
        told: Replies = self.rule.report(view, plan, replies, state)
        demand(np.array_equal(told.clients, replies.clients), "report changed who replied")
        demand(np.array_equal(told.models, replies.models), "report changed models")
        demand(told.counts.dtype == np.int64 and (told.counts >= 1).all(), "counts must be whole numbers from 1")
        return replace(told)


def _spent(view: View) -> float:
    return float(view.ask.budget.spent.sum())  # type: ignore[attr-defined]  # the toy's
