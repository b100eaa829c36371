"""Each selector here breaks one promise, and the suite says which."""

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from coterie.backbones import SGD
from coterie.rules import Selector
from coterie.selectors import Uniform
from coterie.testing import ContractError, check_selector

DEFECTS = {}


def defect(message):
    def plant(kind):
        DEFECTS[message] = kind
        return kind

    return plant


@dataclass(frozen=True)
class Sound(Selector):
    """Draws alike, like the good ones."""

    per_round: int = 3

    def choose(self, view, state):
        return view.rng.permutation(view.present)[: self.per_round]


@defect("no dataclass")
class NotADataclass(Selector):
    """Is a class like any other."""

    def choose(self, view, state):
        return view.present[:1]


@defect("is not frozen")
@dataclass
class Thawed(Selector):
    """Lets its fields be changed."""

    per_round: int = 3

    def choose(self, view, state):
        return view.present[:1]


@defect("has no docstring")
@dataclass(frozen=True)
class Wordless(Sound):
    def choose(self, view, state):
        return view.present[:1]


Wordless.__doc__ = None


@defect("ids: a ndarray is no plain value")
@dataclass(frozen=True, eq=False)
class WithAnArray(Sound):
    """Keeps an array in a field."""

    ids: Any = field(default_factory=lambda: np.arange(3))


@defect("does not equal its copy")
@dataclass(frozen=True, eq=False)
class Unequal(Selector):
    """Is equal to nothing but itself."""

    def choose(self, view, state):
        return view.present[:3]


@defect("choose returned clients who are not present")
@dataclass(frozen=True)
class AsksTheAbsent(Sound):
    """Chooses from the whole roster."""

    def choose(self, view, state):
        return view.rng.permutation(view.roster.ids)[:3]


@defect("choose returned a client twice")
@dataclass(frozen=True)
class Twice(Sound):
    """Draws with replacement."""

    def choose(self, view, state):
        return view.rng.choice(view.present, 3) if len(view.present) else view.present


@defect("where per_round is 3")
@dataclass(frozen=True)
class TooMany(Sound):
    """Takes everybody."""

    def choose(self, view, state):
        return view.present


@defect("not ids of clients")
@dataclass(frozen=True)
class Mask(Sound):
    """Returns flags."""

    def choose(self, view, state):
        return np.zeros(len(view.present), bool)


@defect("an array of 2 dimensions")
@dataclass(frozen=True)
class Table(Sound):
    """Returns a row."""

    def choose(self, view, state):
        return view.present[:3][None, :]


@defect("threw the global dice of random")
@dataclass(frozen=True)
class PythonDice(Sound):
    """Shuffles with the standard library."""

    def choose(self, view, state):
        return np.array(random.sample(view.present.tolist(), min(3, len(view.present))), dtype=int)


@defect("threw the global dice of numpy.random")
@dataclass(frozen=True)
class NumPyDice(Sound):
    """Shuffles with NumPy's global state."""

    def choose(self, view, state):
        return np.random.permutation(view.present)[:3]  # noqa: NPY002 - the defect


@defect("the same seed and a copied state gave another result")
@dataclass(frozen=True)
class FreshDice(Sound):
    """Brings dice of its own, without a seed."""

    def choose(self, view, state):
        return np.random.default_rng().permutation(view.present)[:1]


MEMORY: dict[str, int] = {}


@defect("the same seed and a copied state gave another result ")
@dataclass(frozen=True)
class Hidden(Sound):
    """Remembers outside of its state."""

    def choose(self, view, state):
        MEMORY["calls"] = MEMORY.get("calls", 0) + 1
        return np.roll(view.present, MEMORY["calls"])[:1]


@defect("the state was changed in deciding")
@dataclass(frozen=True)
class ChangesState(Sound):
    """Writes into its state when it chooses."""

    def begin(self, roster):
        return {"rounds": 0}

    def choose(self, view, state):
        state["rounds"] += 1
        return view.present[:3]


@defect("the state that learn was given was changed")
@dataclass(frozen=True)
class LearnsInPlace(Sound):
    """Writes into its state when it learns."""

    def begin(self, roster):
        return np.zeros(len(roster))

    def learn(self, view, plan, replies, state):
        state[plan.trainers] += 1
        return state


@defect("a set cannot be kept in a checkpoint")
@dataclass(frozen=True)
class KeepsASet(Sound):
    """Keeps what no checkpoint can hold."""

    def begin(self, roster):
        return {"seen": set()}


@defect("a function cannot be kept in a checkpoint")
@dataclass(frozen=True)
class LearnsAFunction(Sound):
    """Learns what no checkpoint can hold."""

    def learn(self, view, plan, replies, state):
        return lambda: None


@defect("0 clients, calm: round 1: ValueError")
@dataclass(frozen=True)
class NeedsSomebody(Sound):
    """Draws without looking whether anybody is there."""

    def choose(self, view, state):
        return view.rng.choice(view.present, 1)


@defect("1 clients, calm: round 1: ValueError")
@dataclass(frozen=True)
class NeedsThree(Sound):
    """Draws three though there may be fewer."""

    def choose(self, view, state):
        return view.rng.choice(view.present, 3, replace=False) if len(view.present) else view.present


@defect("rough: round 1: ValueError: cannot convert float NaN")
@dataclass(frozen=True)
class TrustsAnswers(Sound):
    """Takes silence for a number."""

    def choose(self, view, state):
        if len(view.present) == 0:
            return view.present
        return view.present[[int(view.ask.losses(view.present).sum()) % len(view.present)]]


@defect("shape mismatch")
@dataclass(frozen=True)
class TrustsReplies(Sound):
    """Takes for granted that all who were asked reply."""

    def begin(self, roster):
        return np.zeros(len(roster))

    def learn(self, view, plan, replies, state):
        new = state.copy()
        new[plan.trainers] = replies.facts.get("loss", np.zeros(len(replies)))
        return new


@defect("read-only")
@dataclass(frozen=True)
class Scribbles(Sound):
    """Writes on the models it is shown."""

    def choose(self, view, state):
        view.models[0, 0] = 0
        return view.present[:3]


@defect("read-only ")
@dataclass(frozen=True)
class Scales(Sound):
    """Writes on the replies it is shown."""

    def learn(self, view, plan, replies, state):
        replies.models[:] = 0


@defect("candidates that are no clients: [99]")
@dataclass(frozen=True)
class NotesStrangers(Sound):
    """Writes down scores of nobody."""

    def choose(self, view, state):
        view.note([99], score=[1.0])
        return view.present[:3]


@defect("try_out returned clients who are not present")
@dataclass(frozen=True)
class TriesTheAbsent(Sound):
    """Tries out whoever is in the roster."""

    def try_out(self, view, state):
        return view.roster.ids[:1]


@defect("the key (1, 2) is neither")
@dataclass(frozen=True)
class KeyedByPairs(Sound):
    """Keeps a table with pairs for keys."""

    def begin(self, roster):
        return {(1, 2): 0.5}


@defect("an array of objects")
@dataclass(frozen=True)
class ArrayOfObjects(Sound):
    """Keeps anything in an array."""

    def begin(self, roster):
        return np.array([None, {}], dtype=object)


@pytest.mark.parametrize("message", DEFECTS)
def test_a_planted_defect_is_found_and_named(message):
    with pytest.raises(ContractError) as error:
        check_selector(DEFECTS[message]())
    assert message.strip() in str(error.value)


def test_sound_ones_pass():
    check_selector(Sound())
    check_selector(Uniform(2, by_size=True), seed=8)


def test_no_selector_at_all():
    with pytest.raises(ContractError, match="SGD is no Selector"):
        check_selector(SGD())
