"""What everybody promises who says how far clients are believed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from coterie.aggregators import Mean
from coterie.backbones import SGD
from coterie.coalitions import Grand
from coterie.federation import Steps, View
from coterie.neighbors import Gossip
from coterie.plan import Plan
from coterie.recipe import ByCoalition, Central, Peers
from coterie.replies import Replies
from coterie.roster import Column
from coterie.rules import Believer, State
from coterie.selectors import Uniform
from coterie.testing.contract import Watching, check_fields, check_recipe, demand, where


def check_believer(believer: Believer, *, rounds: int = 6, seed: int = 0) -> None:
    """Checks a believer of yours in recipes of all three shapes, calm and rough.

    Trust is in [0, 1] for every client, or for each viewer and client; only replies that came are doubted, each with
    a reason; suspects do not train for others.

    >>> from coterie.trust import Audit
    >>> check_believer(Audit(), rounds=2)
    """
    check_fields(believer, Believer)
    steps, watched = SGD(Steps(epochs=1, batch_size=8, lr=0.1)), Watched(believer)
    for recipe in (
        Central(steps, Mean(), Uniform(4), trust=watched),
        ByCoalition(steps, Mean(), Grand(), across=Mean(), trust=watched),
        Peers(steps, Mean(), Gossip(3), trust=watched),
    ):
        with where(type(recipe).__name__):
            check_recipe(recipe, lambda view, plan: None, rounds=rounds, seed=seed)


class Watched(Watching, Believer):
    """A believer under watch: what it returns is looked at before the recipe goes by it."""

    def believe(self, view: View, state: State) -> Column:
        trust = np.asarray(self.rule.believe(view, state))
        count = len(view.roster)
        demand(
            trust.shape in ((count,), (count, count)),
            f"believe returned {trust.shape}, not a value for each of {count}",
        )
        demand(trust.dtype.kind == "f", f"believe returned {trust.dtype} values, not numbers")
        demand(((trust >= 0) & (trust <= 1)).all(), "believe returned trust outside [0, 1]")
        return trust

    def suspects(self, trust: Column) -> np.ndarray:
        flags = np.asarray(self.rule.suspects(trust))
        demand(flags.dtype == bool and flags.shape == (len(trust),), "suspects must return one flag a client")
        return flags

    def heed(self, view: View, plan: Plan, replies: Replies, state: State) -> tuple[Mapping[int, str], State]:
        doubts, new = self.rule.heed(view, plan, replies, state)
        strangers = set(doubts) - set(replies.clients.tolist())
        demand(not strangers, f"heed doubts clients that did not reply: {sorted(strangers)}")
        demand(all(isinstance(why, str) and why for why in doubts.values()), "heed doubts a reply without a reason")
        return doubts, new
