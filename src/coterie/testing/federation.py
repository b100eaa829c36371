"""What every federation promises, ours and strangers'."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
from scipy import sparse

from coterie.aggregators import BySize, Mean
from coterie.backbones import SGD
from coterie.federation import Federation, Steps
from coterie.mixing import Mixing
from coterie.neighbors import Gossip
from coterie.plan import Plan
from coterie.recipe import Central, Peers, Recipe, play
from coterie.selectors import PowerOfChoice
from coterie.testing.contract import check_state, demand, no_global_dice, same, where

STEPS = SGD(Steps(epochs=1, batch_size=16, lr=0.05))
RECIPES: tuple[Recipe, ...] = (Central(STEPS, Mean(), PowerOfChoice(2)), Peers(STEPS, BySize(), Gossip(2)))


def check_federation(make: Callable[[], Federation], *, rounds: int = 3) -> None:
    """Checks a federation of yours; `make` makes a fresh one, the same each time, of two clients or more.

    >>> from coterie.testing import Toy
    >>> check_federation(lambda: Toy(clients=5, seed=1))
    """
    with where("view"):
        _check_view(make())
    with where("questions"):
        _check_questions(make())
    with where("a round in which nobody trains"):
        _check_empty(make())
    for recipe in RECIPES:
        with where(type(recipe).__name__), no_global_dice():
            whole = _play(recipe, make(), rounds)
            demand(same(whole, _play(recipe, make(), rounds)), "the same federation made twice gave two results")
            _check_resume(recipe, make, rounds, whole)


def _check_view(fed: Federation) -> None:
    view, clients = fed.view(1), len(fed.roster)
    demand(fed.round == 0, "a fresh federation has completed rounds")
    demand(view.round == 1, f"the view onto round 1 says round {view.round}")
    demand(clients >= 2, "the checks need two clients or more")
    demand(np.array_equal(np.unique(view.present), view.present), "those present are not distinct and in order")
    demand(np.isin(view.present, fed.roster.ids).all(), "somebody is present who is not in the roster")
    demand(
        view.models.dtype == np.float32 and view.models.shape[1] == fed.layout.size,
        "models are not float32 of the layout's size",
    )
    demand(not view.models.flags.writeable, "a rule could write into view.models")
    demand(
        view.follows.shape == (clients,) and view.follows.max(initial=0) < len(view.models), "follows does not fit the models"
    )


def _check_questions(fed: Federation) -> None:
    view = fed.view(1)
    few, before = view.present[:2], fed.meter()
    losses = view.ask.losses(few)
    demand(losses.shape == few.shape, f"{len(few)} clients were asked, {losses.shape} losses came")
    after = fed.meter()
    demand(after.evaluations == before.evaluations + len(few), "the meter missed evaluations")
    demand(after.bytes_up > before.bytes_up and after.bytes_down > before.bytes_down, "the meter missed bytes of a question")
    demand(view.ask.gradients(few).shape == (len(few), fed.layout.size), "gradients have another shape than the models")
    demand(
        view.ask.gradients(few, part=fed.layout.head).shape[1] == fed.layout.head.stop - fed.layout.head.start,
        "part is ignored",
    )
    demand(view.ask.losses(few[:0]).shape == (0,), "asking nobody is legal")
    demand(len(view.ask.label_counts(few)) == len(few), "label counts miss clients")


def _check_empty(fed: Federation) -> None:
    before = fed.view(1).models.copy()
    replies = fed.train(Plan.star([], STEPS))
    demand(len(replies) == 0, "replies came of nobody")
    fed.adopt(Mixing(sparse.csr_array((1, 0))), replies)
    demand(fed.round == 1, "the round was not completed")
    demand(np.array_equal(fed.view(2).models, before), "the model changed though nobody trained")


def _play(recipe: Recipe, fed: Federation, rounds: int, state: Any = None) -> list[Any]:
    trace = []
    for record in play(recipe, fed, rounds, state):
        demand(np.isin(record.asked, record.available).all(), "asked somebody who was not available")
        demand(np.isin(record.answered, record.asked).all(), "an answer came from one who was not asked")
        demand(np.isin(record.used, record.answered).all(), "used what was not answered")
        told = {*record.answered.tolist(), *record.rejected, *record.lost}
        demand(told >= set(record.asked.tolist()), "of a client that was asked it is not said what became of its reply")
        demand(not len(record.asked) or record.meter.bytes > 0, "training cost no bytes")
        trace.append([record.round, record.asked, record.answered, record.used, record.accuracy, dict(record.meter.up)])
    return [*trace, fed.view(fed.round + 1).models.copy()]


def _check_resume(recipe: Recipe, make: Callable[[], Federation], rounds: int, whole: list[Any]) -> None:
    fed = make()
    record = next(play(recipe, fed, 1))
    check_state(fed.state())
    state = deepcopy(fed.state())
    later = make()
    later.restore(state)
    demand(later.round == 1, f"restored after round 1, it stands at {later.round}")
    demand(same(_play(recipe, later, rounds, record.state), whole[1:]), "a restored federation went another way")
