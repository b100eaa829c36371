"""What every aggregator promises."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from coterie.backbones import SGD
from coterie.federation import Steps
from coterie.mixing import Merge
from coterie.neighbors import Gossip
from coterie.plan import Plan
from coterie.recipe import Central, Peers
from coterie.replies import Replies
from coterie.rules import Aggregator
from coterie.selectors import Uniform
from coterie.testing.contract import check_fields, check_recipe, demand, where
from coterie.testing.toy import Toy

SHAPES = [(1, 1), (1, 2), (1, 6), (4, 6), (6, 6)]
"""Targets and replies of the plans that are tried."""


def check_aggregator(aggregator: Aggregator, *, rounds: int = 6, seed: int = 0) -> None:
    """Checks an aggregator of yours on plans of any support, then in whole rounds with a server and with peers.

    A target is made of nothing but what the plan lets it hear, whatever the others sent; one that hears nobody keeps
    the model that it had; what is said to be unused has no influence.

    >>> from coterie.aggregators import Median
    >>> check_aggregator(Median())
    """
    check_fields(aggregator, Aggregator)
    rng = np.random.default_rng(seed)
    for targets, replies in SHAPES:
        for share in (1.0, 0.5, 0.1):
            with where(f"{targets} targets, {replies} replies, {share:.0%} heard"):
                _check_one(aggregator, rng, targets, replies, share)
    steps = SGD(Steps(epochs=1, batch_size=8, lr=0.1))
    for recipe in (Central(steps, aggregator, Uniform(4)), Peers(steps, aggregator, Gossip(3))):
        with where(type(recipe).__name__):
            check_recipe(recipe, lambda view, plan: None, rounds=rounds, seed=seed)


def _check_one(aggregator: Aggregator, rng: np.random.Generator, targets: int, count: int, share: float) -> None:
    toy = Toy(max(targets, count))
    view, dim = toy.view(1), toy.layout.size
    hears = rng.random((targets, count)) < share
    keeps = np.zeros(targets, np.intp)
    plan = Plan(np.arange(count), np.zeros(count, np.intp), sparse.csr_array(hears), keeps, SGD())
    models = rng.standard_normal((count, dim)).astype(np.float32)
    facts = {name: rng.random(count) for name in ("loss", "loss_rms", "loss_before", "loss_after")}
    replies = Replies(plan.trainers, models, rng.integers(1, 50, count), facts, rng.random(count))
    merge = aggregator.weigh(view.towards("weigh"), plan, replies, aggregator.begin(toy.roster))
    merge.check(plan, replies)
    _check_merge(merge, hears, models, toy.models[keeps])


def _check_merge(merge: Merge, hears: np.ndarray, models: np.ndarray, kept: np.ndarray) -> None:
    made, used = merge.apply(models, kept), merge.uses()
    demand(made.shape == kept.shape, f"made models of shape {made.shape}, not {kept.shape}")
    demand(made.dtype == np.float32, f"made {made.dtype} models, not float32")
    demand(np.isfinite(made).all(), "made models that are not finite")
    demand(used.shape == (len(models),) and used.dtype == bool, "uses must be one flag a reply")
    deaf = ~hears.any(axis=1)
    demand(np.array_equal(made[deaf], kept[deaf]), "a target that hears nobody did not keep its model")
    for target, heard in enumerate(hears):
        again = merge.apply(np.where(heard[:, None], models, 1e3 - models), kept)
        demand(np.array_equal(again[target], made[target]), f"target {target} is made of what it must not hear")
    again = merge.apply(np.where(used[:, None], models, 1e3 - models), kept)
    demand(np.array_equal(again, made), "a reply has influence that is said to be unused")
