"""What every rule of listening promises."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from scipy import sparse

from coterie.aggregators import Mean
from coterie.backbones import SGD
from coterie.federation import Steps, View
from coterie.plan import Hears, Plan
from coterie.recipe import Peers
from coterie.replies import Replies
from coterie.rules import Listener
from coterie.testing.contract import Watching, check_fields, check_recipe, demand, same


def check_listener(listener: Listener, *, rounds: int = 6, seed: int = 0) -> None:
    """Checks a listener of yours: it returns clients × clients, and those absent neither hear nor are heard.

    Where it heeds some more than others, nobody heeds whom the plan did not let it hear.

    >>> from coterie.neighbors import Gossip
    >>> check_listener(Gossip(peers=2))
    """
    check_fields(listener, Listener)
    recipe = Peers(SGD(Steps(epochs=1, batch_size=8, lr=0.1)), Mean(), Watched(listener))
    check_recipe(recipe, lambda view, plan: None, rounds=rounds, seed=seed)


class Watched(Watching, Listener):
    """A listener under watch: what it returns is looked at before the recipe cuts it."""

    def listen(self, view: View, state: Any) -> Hears:
        hears, clients = self.rule.listen(view, state), len(view.roster)
        demand(sparse.issparse(hears), f"listen returned a {type(hears).__name__}, not a sparse matrix")
        demand(hears.shape == (clients, clients), f"listen returned a matrix {hears.shape}, not {(clients, clients)}")
        demand(hears.dtype == bool, f"listen returned {hears.dtype} values, not true and false")
        away = np.setdiff1d(view.roster.ids, view.present)
        for which, lines in [("hear", hears.tocsr()[away]), ("are heard", hears.tocsc()[:, away])]:
            demand(not lines.count_nonzero(), f"clients who are not present {which}; present are {view.present.tolist()}")
        return sparse.csr_array(hears)

    def heed(self, view: View, plan: Plan, replies: Replies, state: Any) -> tuple[sparse.csr_array, Any]:
        before = deepcopy(state)
        heeds, learned = self.rule.heed(view, plan, replies, state)
        support = plan.support(replies.clients)
        demand(same(state, before), "the state that heed was given was changed; return a new one")
        demand(sparse.issparse(heeds), f"heed returned a {type(heeds).__name__}, not a sparse matrix")
        demand(heeds.shape == support.shape, f"heed returned a matrix {heeds.shape}, not {support.shape}")
        good = heeds.dtype == bool or (np.isfinite(heeds.data).all() and (heeds.data >= 0).all())
        demand(good, "heed returned values that are negative or not finite")
        demand(heeds.multiply(support).count_nonzero() == heeds.count_nonzero(), "heeds whom the plan lets nobody hear")
        return heeds, learned
