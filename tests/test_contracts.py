"""Every rule of every room, by name, keeps its room's contract; a new rule is here as soon as its room exports it."""

import warnings
from dataclasses import MISSING
from typing import get_args

import pytest

from coterie import data, simulate, testing
from coterie.catalog import METHODS
from coterie.coalitions import ByColumn, Fixed
from coterie.recipe import Peers, Recipe
from coterie.rooms import ROOMS, rules
from coterie.settings import parameters_of
from coterie.simulation import World
from coterie.testing.contract import check_recipe

CHECKS = {
    "selectors": testing.check_selector,
    "coalitions": testing.check_former,
    "neighbors": testing.check_listener,
    "aggregators": testing.check_aggregator,
    "backbones": testing.check_backbone,
    "trust": testing.check_believer,
    "privacy": testing.check_reporter,
}
EXAMPLES = {"fixed": Fixed((0, 1, -1) * 4), "by-column": ByColumn("size")}
"""Rules whose fields cannot be guessed."""
SHORT = {"per_round": 3, "warmup": 2, "pretrain": 1}
"""Fields that make a rule show all that it does in a few rounds."""


def example(name, kind):
    if name in EXAMPLES:
        return EXAMPLES[name]
    known = parameters_of(kind)
    given = {field: value for field, value in SHORT.items() if field in known}
    guesses = {field: _guess(p.type) for field, p in known.items() if p.default is MISSING and field not in given}
    return kind(**given, **guesses)


def _guess(kind):
    return {int: 3, float: 0.5, str: "size", bool: False}.get(kind) or get_args(kind)[0]


@pytest.mark.parametrize(("room", "name"), [(room, name) for room in CHECKS for name in rules(room)])
def test_keeps_the_contract_of_its_room(room, name):
    rule = example(name, rules(room)[name])
    sizes = {"sizes": (12,)} if name == "fixed" else {}
    CHECKS[room](rule, **sizes)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_plays_as_it_comes_from_the_catalog(name):
    recipe = METHODS[name].build()
    assert isinstance(recipe, Recipe)
    check_recipe(recipe, lambda view, plan: None, rounds=2, seed=3)


@pytest.mark.parametrize("world", [World(), World(availability=0.7, fail_during=0.2, broken_rate=0.2)], ids=["calm", "rough"])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_simulation_is_a_federation(world, workers):
    shards = data.shards(2)
    testing.check_federation(
        lambda: simulate("digits", partition=shards, clients=8, seed=1, model="linear", world=world, workers=workers)
    )


def test_every_room_has_a_check():
    assert CHECKS.keys() == ROOMS.keys()


def test_nothing_is_left_out_of_the_rooms():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for room in ROOMS:
            rules.__wrapped__(room)


@pytest.mark.parametrize("aggregator", ["fomo", "masked-mean"])
@pytest.mark.parametrize("listener", rules("neighbors"))
def test_any_backbone_goes_with_any_rule_of_neighbors(listener, aggregator):
    """A backbone is how a client trains, a rule of neighbors whom it listens to; clients come, go, fail and lie."""
    for name, kind in rules("backbones").items():
        rules_of = example(listener, rules("neighbors")[listener]), example(aggregator, rules("aggregators")[aggregator])
        recipe = Peers(example(name, kind), rules_of[1], rules_of[0])
        try:
            check_recipe(recipe, lambda view, plan: None, rounds=2, seed=3)
        except Exception as error:
            raise AssertionError(f"{name} with {listener} and {aggregator}: {error}") from error
