"""What every rule of every room promises, and the drive through a toy federation that shows it."""

from __future__ import annotations

import pickle
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from inspect import getdoc
from typing import Any

import numpy as np

from coterie.federation import View
from coterie.plan import Plan
from coterie.recipe import Recipe
from coterie.replies import Replies
from coterie.roster import Roster
from coterie.rules import Rule, State
from coterie.testing.toy import CALM, ROUGH, Chances, Toy

PLAIN = (type(None), bool, int, float, str)
SIZES = (0, 1, 12)
"""How many clients the toy federations have."""
WORLDS: tuple[Chances, ...] = (CALM, ROUGH)


class ContractError(AssertionError):
    """A rule does what its room does not allow, or does not do what its room asks for."""


def demand(good: Any, message: str) -> None:
    """Raises ContractError unless it is good."""
    if not good:
        raise ContractError(message)


@contextmanager
def where(place: str) -> Iterator[None]:
    """Says where it happened, of whatever is raised."""
    try:
        yield
    except ContractError as error:
        raise ContractError(f"{place}: {error}") from error.__cause__
    except Exception as error:
        raise ContractError(f"{place}: {type(error).__name__}: {error}") from error


@contextmanager
def no_global_dice() -> Iterator[None]:
    """Demands that nobody throws the dice of `random`, `numpy.random` or, where it is loaded, torch."""
    before = _global_dice()
    yield
    for name, state in _global_dice().items():
        demand(same(state, before[name]), f"threw the global dice of {name}; use view.rng")


def _global_dice() -> dict[str, Any]:
    dice = {"random": random.getstate(), "numpy.random": np.random.get_state()}  # noqa: NPY002 - these are what is watched
    torch = sys.modules.get("torch")
    return dice if torch is None else {**dice, "torch": torch.get_rng_state().numpy()}


def check_fields(rule: Any, kind: type) -> None:
    """A rule is a documented frozen dataclass of plain values, equal to its copies."""
    name = type(rule).__name__
    demand(isinstance(rule, kind), f"{name} is no {kind.__name__}")
    demand(is_dataclass(rule), f"{name} is no dataclass")
    demand(_frozen(type(rule)), f"{name} is not frozen: write @dataclass(frozen=True)")
    demand((getdoc(rule) or "").strip() and not (getdoc(rule) or "").startswith(f"{name}("), f"{name} has no docstring")
    for field in fields(rule):
        value = getattr(rule, field.name)
        demand(
            _plain(value),
            f"{name}.{field.name}: a {type(value).__name__} is no plain value, tuple or frozen dataclass of these",
        )
    demand(replace(rule) == rule and hash(replace(rule)) == hash(rule), f"{name} does not equal its copy")
    demand(pickle.loads(pickle.dumps(rule)) == rule, f"{name} does not survive a trip to another process")


def _frozen(kind: Any) -> bool:
    return bool(kind.__dataclass_params__.frozen)


def _plain(value: Any) -> bool:
    if isinstance(value, tuple | frozenset):
        return all(map(_plain, value))
    if is_dataclass(value) and not isinstance(value, type):
        return _frozen(type(value)) and all(_plain(getattr(value, field.name)) for field in fields(value))
    return isinstance(value, PLAIN)


def check_state(state: Any, place: str = "state") -> None:
    """State is a tree that a checkpoint can hold: arrays, plain values, tuples, lists, dicts, frozen dataclasses."""
    if isinstance(state, np.ndarray):
        demand(state.dtype != object, f"{place}: an array of objects cannot be kept in a checkpoint")
    elif isinstance(state, dict):
        for key, value in state.items():
            demand(isinstance(key, str | int), f"{place}: the key {key!r} is neither a text nor a whole number")
            check_state(value, f"{place}[{key!r}]")
    elif isinstance(state, tuple | list):
        for row, value in enumerate(state):
            check_state(value, f"{place}[{row}]")
    elif is_dataclass(state) and not isinstance(state, type):
        demand(_frozen(type(state)), f"{place}: {type(state).__name__} is not frozen")
        for field in fields(state):
            check_state(getattr(state, field.name), f"{place}.{field.name}")
    else:
        demand(
            isinstance(state, (*PLAIN, bytes, np.generic)), f"{place}: a {type(state).__name__} cannot be kept in a checkpoint"
        )


def same(one: Any, other: Any) -> bool:
    """Whether two trees hold the same, NaN equal to NaN."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        alike = isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.dtype == other.dtype
        return alike and np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if is_dataclass(one) and not isinstance(one, type):
        return all(same(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    return bool(one == other) or (one != one and other != other)


class Watching(Rule):
    """A rule under watch: whoever inherits this looks at what the rule decides and passes the rest on."""

    def __init__(self, rule: Any) -> None:
        self.rule = rule
        self.wants = rule.wants  # type: ignore[misc]  # of this rule only

    def begin(self, roster: Roster) -> State:
        return self.rule.begin(roster)

    def learn(self, view: View, plan: Plan, replies: Replies, state: State) -> State:
        return self.rule.learn(view, plan, replies, state)


Look = Callable[[View, Plan], None]
"""What a room has to say about a plan."""


def check_recipe(recipe: Recipe, look: Look, *, rounds: int, seed: int, sizes: tuple[int, ...] = SIZES) -> None:
    """Drives a recipe through federations of all sizes, calm and rough, twice each, and demands twins."""
    for clients in sizes:
        for chances in WORLDS:
            with where(f"{clients} clients, {'calm' if chances == CALM else 'rough'}"):
                once = drive(recipe, Toy(clients, seed, chances), rounds, look)
                twin = drive(deepcopy(recipe), Toy(clients, seed, chances), rounds, look, copied=True)
                for t, (one, other) in enumerate(zip(once, twin, strict=True), 1):
                    demand(same(one, other), f"round {t}: the same seed and a copied state gave another result")


def drive(recipe: Recipe, toy: Toy, rounds: int, look: Look, copied: bool = False) -> list[Any]:
    """Plays a recipe under watch; returns what each round decided and made. `copied` passes copies of state on."""
    with where("begin"), no_global_dice():
        toy.make_room(recipe.backbone)
        state = recipe.begin(toy.roster)
        check_state(state)
    trace = []
    for _ in range(rounds):
        with where(f"round {toy.round + 1}"), no_global_dice():
            state, result = _round(recipe, toy, look, deepcopy(state) if copied else state)
            trace.append(result)
    return trace


def _round(recipe: Recipe, toy: Toy, look: Look, state: Any) -> tuple[Any, Any]:
    before, view = deepcopy(state), toy.view(toy.round + 1)
    plan = recipe.plan(view, state)
    demand(same(state, before), "the state was changed in deciding; return a new one from learn")
    look(view, plan)
    replies = toy.train(plan)
    merge, learned = recipe.mix(view, plan, replies, state)
    demand(same(state, before), "the state that learn was given was changed; return a new one")
    check_state(learned)
    merge.check(plan, replies)
    toy.adopt(merge, replies)
    demand(np.isfinite(toy.models).all(), "tomorrow's models are not finite")
    return learned, (plan.trainers, plan.hears.indices, plan.hears.indptr, plan.follows, toy.models, learned)
