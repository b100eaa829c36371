from dataclasses import MISSING, dataclass
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.aggregators import Krum, Mean
from coterie.backbones import SGD, FineTune, Prox
from coterie.federation import Steps
from coterie.rules import Aggregator, Backbone
from coterie.settings import UnfitError, allowed, build, meanings, parameters_of, read


@dataclass(frozen=True)
class Parent:
    """A class."""

    first: int
    """What comes
    first."""
    second: float = 0.5
    third: str = "x"
    """The third."""


@dataclass(frozen=True)
class Child(Parent):
    """Another."""

    third: str = "y"
    """The third, again."""
    fourth: Literal["a", "b"] = "a"


def test_parameters_are_read_off_the_signature_and_the_docstrings():
    known = parameters_of(Child)
    assert list(known) == ["first", "second", "third", "fourth"]
    assert known["first"].default is MISSING
    assert known["first"].required
    assert known["second"].default == 0.5
    assert [p.meaning for p in known.values()] == ["What comes first.", "", "The third, again.", ""]
    assert [p.allowed for p in known.values()] == ["a whole number", "a number", "a text", "a or b"]


def test_classes_without_source_have_no_meanings():
    assert meanings(type("Made", (), {})) == {}


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (int, 3, 3),
        (float, 3, 3.0),
        (float, 0.5, 0.5),
        (bool, True, True),
        (str, "a", "a"),
        (int | None, None, None),
        (int | None, 4, 4),
        (Literal["a", "b"], "b", "b"),
        (tuple[int, ...], [1, 2], (1, 2)),
        (tuple[int, float], [1, 2], (1, 2.0)),
        (Any, {"x": 1}, {"x": 1}),
        (Aggregator, "krum", Krum()),
        (Aggregator, {"name": "krum", "keep": 3}, Krum(keep=3)),
        (Aggregator, Mean(), Mean()),
        (Steps, {"lr": 1}, Steps(lr=1.0)),
        (SGD, {"name": "sgd", "steps": {"epochs": 2}}, SGD(Steps(epochs=2))),
        (Backbone, {"name": "fine-tune", "inner": "prox"}, FineTune(Prox())),
    ],
)
def test_reads_what_a_file_can_say(kind, value, expected):
    got = read(kind, value)
    assert got == expected
    assert type(got) is type(expected)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, 3.0),
        (int, True),
        (float, True),
        (float, "1"),
        (bool, 1),
        (str, 1),
        (int | None, "x"),
        (Literal["a"], "c"),
        (tuple[int, ...], "12"),
        (tuple[int, ...], [1, "2"]),
        (tuple[int, int], [1]),
        (Steps, 3),
        (Aggregator, 3),
        (SGD, FineTune()),
    ],
)
def test_refuses_what_is_none_of_the_allowed(kind, value):
    with pytest.raises(UnfitError):
        read(kind, value)
    assert allowed(kind)


@given(st.one_of(st.integers(), st.floats(), st.text(), st.none(), st.lists(st.integers()), st.booleans()))
def test_never_fails_otherwise(value):
    for kind in (int, float, bool, str, int | None, Literal["a"], tuple[int, ...], Aggregator, Steps):
        try:
            read(kind, value)
        except ValueError:
            continue


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "first: must be given"),
        ({"frist": 1}, r"frist: no such parameter \(did you mean first\?\); there are first, second, third"),
        ({"first": "a"}, "first: must be a whole number, not 'a'"),
        ({"first": 1, "second": None}, "second: must be a number, not None"),
    ],
)
def test_says_what_is_wrong_where_and_what_is_allowed(settings, message):
    with pytest.raises(ValueError, match=message):
        build(Parent, settings)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("krumm", r"'krumm' is none of .*mean.* \(did you mean krum\?\)"),
        ({"keep": 3}, "'' is none of|'None' is none of"),
        ({"name": "krum", "kept": 3}, "kept: no such parameter"),
        ({"name": "krum", "keep": 0}, "keep: must be a whole number from 1, not 0"),
    ],
)
def test_says_what_is_wrong_inside_of_a_rule(value, message):
    with pytest.raises(ValueError, match=message):
        read(Aggregator, value)
