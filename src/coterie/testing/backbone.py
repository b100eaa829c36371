"""What every backbone promises."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import numpy as np

from coterie.aggregators import Mean
from coterie.federation import Local
from coterie.neighbors import Gossip
from coterie.recipe import Central, Peers
from coterie.rules import Backbone, Trained
from coterie.selectors import Uniform
from coterie.testing.contract import check_fields, check_recipe, demand, no_global_dice, same, where
from coterie.testing.toy import Toy


def check_backbone(backbone: Backbone, *, rounds: int = 4, seed: int = 0) -> None:
    """Checks a backbone of yours at one client twice in a row, then in whole rounds with a server and with peers.

    >>> from coterie.backbones import Prox
    >>> check_backbone(Prox(mu=0.1))
    """
    check_fields(backbone, Backbone)
    toy = Toy(3, seed)
    toy.make_room(backbone)
    with where("first training"):
        first = _train(backbone, toy, toy.local(0))
    with where("second training"):
        toy.kept[0] = dict(first.keep)
        _train(backbone, toy, toy.local(0, t=2))
    for recipe in (Central(backbone, Mean(), Uniform(4)), Peers(backbone, Mean(), Gossip(3))):
        with where(type(recipe).__name__):
            check_recipe(recipe, lambda view, plan: None, rounds=rounds, seed=seed)


def _train(backbone: Backbone, toy: Toy, local: Local) -> Trained:
    with no_global_dice():
        trained = backbone.train(local)
    demand(isinstance(trained, Trained), f"train returned a {type(trained).__name__}, not Trained")
    sizes = (toy.models.shape[1], toy.layout.size)
    for name, model, dim in zip(("share", "personal"), (trained.share, trained.personal), sizes, strict=True):
        if model is not None:
            demand(isinstance(model, np.ndarray) and model.shape == (dim,), f"{name} is not a model of {dim} values")
            demand(model.dtype == np.float32, f"{name}: values are {model.dtype}, not float32")
            demand(np.isfinite(model).all(), f"{name}: values are not finite")
    for name, value in trained.keep.items():
        demand(isinstance(value, np.ndarray) and value.dtype != object, f"keep['{name}'] is no array of numbers")
    for name, fact in trained.facts.items():
        demand(isinstance(fact, int | float) and np.isfinite(fact), f"facts['{name}'] is no finite number")
    again = backbone.train(replace(toy.local(0, t=local.round), kept=deepcopy(dict(local.kept))))
    demand(same(again.share, trained.share), "the same client, model and round gave another result")
    return trained
