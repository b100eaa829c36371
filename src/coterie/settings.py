"""What can be set: the parameters of a rule or a method, read off its signature and its docstrings."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from coterie.rooms import ROOMS, rules


@dataclass(frozen=True)
class Parameter:
    """One thing that can be set."""

    name: str
    type: Any
    """The annotation."""
    default: Any = MISSING
    """`dataclasses.MISSING` for one that has to be given."""
    meaning: str = ""

    @property
    def required(self) -> bool:
        return self.default is MISSING

    @property
    def allowed(self) -> str:
        """What it may be, in words."""
        return allowed(self.type)

    def read(self, value: Any) -> Any:
        """The value as the rule wants it; ValueError if it is none of what is allowed."""
        try:
            return read(self.type, value)
        except UnfitError:
            raise ValueError(f"{self.name}: must be {self.allowed}, not {value!r}") from None
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None


class UnfitError(ValueError):
    """A value of a type that is not allowed."""


def parameters_of(build: Callable[..., Any]) -> dict[str, Parameter]:
    """The parameters of a class or a function, in order.

    >>> from coterie.aggregators import Krum
    >>> keep = parameters_of(Krum)["keep"]
    >>> keep.default, keep.meaning
    (1, 'm, how many replies are averaged; never more than n−f.')
    """
    hints = get_type_hints(build)
    meaning = meanings(build) if isinstance(build, type) else _arguments(inspect.getdoc(build) or "")
    return {
        name: Parameter(
            name,
            hints.get(name, Any),
            MISSING if parameter.default is inspect.Parameter.empty else parameter.default,
            meaning.get(name, ""),
        )
        for name, parameter in inspect.signature(build).parameters.items()
    }


def _arguments(text: str) -> dict[str, str]:
    r"""What a function's docstring says under 'Args:'.

    >>> _arguments("Does.\n\nArgs:\n    much: How\n        much.\n    when: When.")
    {'much': 'How much.', 'when': 'When.'}
    """
    _, _, listed = text.partition("\nArgs:\n")
    listed = re.split(r"\n(?=\S)", listed, maxsplit=1)[0]
    found = re.findall(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", listed, re.MULTILINE)
    return {name: re.sub(r"\s+", " ", meaning).strip() for name, meaning in found}


@cache
def meanings(kind: type) -> Mapping[str, str]:
    """The docstrings of a class's fields, those it inherits included; empty where there is no source to read."""
    found: dict[str, str] = {}
    for parent in reversed(kind.__mro__):
        try:
            body = ast.parse(textwrap.dedent(inspect.getsource(parent))).body[0]
        except (OSError, TypeError, SyntaxError):
            continue
        statements = body.body if isinstance(body, ast.ClassDef) else []
        for field, after in pairwise(statements):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
                and isinstance(after.value.value, str)
            ):
                found[field.target.id] = inspect.cleandoc(after.value.value).replace("\n", " ")
    return found


def build(kind: Callable[..., Any], settings: Mapping[str, Any]) -> Any:
    """Makes a rule, or anything else with a signature, of settings; ValueError names what is wrong and what is allowed."""
    known = parameters_of(kind)
    refuse_unknown(settings, known)
    missing = [name for name, parameter in known.items() if parameter.required and name not in settings]
    if missing:
        raise ValueError(f"{', '.join(missing)}: must be given")
    return kind(**{name: known[name].read(value) for name, value in settings.items()})


def refuse_unknown(given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Raises ValueError for the first name that is not known, with the nearest that is."""
    for name in given:
        if name not in known:
            raise ValueError(f"{name}: no such parameter{nearest(name, known)}; there are {', '.join(known) or 'none'}")


def nearest(name: str, known: Mapping[str, Any]) -> str:
    """The question after an unknown name, if any known one is like it.

    >>> nearest("fedcorr", {"fedcor": 1, "oort": 2})
    ' (did you mean fedcor?)'
    """
    close = get_close_matches(name, list(known), 1)
    return f" (did you mean {close[0]}?)" if close else ""


def read(kind: Any, value: Any) -> Any:
    """A value of an annotation, from what a TOML file or a command line can say."""
    origin = get_origin(kind)
    if kind is Any:
        return value
    if kind is None or kind is types.NoneType:
        return _fit(value is None, value)
    if origin is Literal:
        return _fit(value in get_args(kind), value)
    if origin in (Union, types.UnionType):
        return _first(get_args(kind), value)
    if origin is tuple or kind is tuple:
        return _items(kind, value)
    if kind in (bool, int, float, str):
        return _plain(kind, value)
    return _made(origin or kind, value)


def _fit(good: bool, value: Any) -> Any:
    if not good:
        raise UnfitError
    return value


def _first(kinds: tuple[Any, ...], value: Any) -> Any:
    for kind in kinds:
        try:
            return read(kind, value)
        except UnfitError:
            continue
    raise UnfitError


def _items(kind: Any, value: Any) -> tuple[Any, ...]:
    _fit(isinstance(value, list | tuple), value)
    inner = [argument for argument in get_args(kind) if argument is not Ellipsis] or [Any]
    if Ellipsis in get_args(kind) or kind is tuple:
        inner *= len(value)
    _fit(len(inner) == len(value), value)
    return tuple(read(each, item) for each, item in zip(inner, value, strict=True))


def _plain(kind: type, value: Any) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return _fit(isinstance(value, kind) and not (kind is int and isinstance(value, bool)), value)


def _made(kind: type, value: Any) -> Any:
    """An object: itself, or a rule by its name or a table with its name, or a dataclass by a table."""
    if isinstance(value, kind):
        return value
    there = rules_like(kind)
    if there and isinstance(value, str):
        value = {"name": value}
    if there and isinstance(value, Mapping):
        name = str(value.get("name"))
        if name not in there:
            raise ValueError(f"'{name}' is none of {', '.join(there)}{nearest(name, there)}")
        return build(there[name], {field: each for field, each in value.items() if field != "name"})
    _fit(is_dataclass(kind) and isinstance(value, Mapping), value)
    return build(kind, value)


def rules_like(kind: Any) -> dict[str, type[Any]]:
    """The rules by name that an annotation such as `Aggregator`, or a rule's class, allows; none for other things."""
    rooms = [room for room, base in ROOMS.items() if inspect.isclass(kind) and issubclass(kind, base)]
    return {name: rule for room in rooms for name, rule in sorted(rules(room).items()) if issubclass(rule, kind)}


def allowed(kind: Any) -> str:
    """What an annotation allows, in words.

    >>> allowed(int | None), allowed(Literal["a", "b"]), allowed(tuple[int, ...])
    ('a whole number or none', 'a or b', 'a list of: a whole number')
    """
    words = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "a text",
        types.NoneType: "none",
        Any: "anything",
    }
    if kind in words:
        return words[kind]
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return _either([str(each) for each in inner])
    if origin in (Union, types.UnionType):
        return _either([allowed(each) for each in inner])
    if origin is tuple:
        return f"a list of: {', '.join(allowed(each) for each in inner if each is not Ellipsis)}"
    if there := rules_like(kind):
        return _either(list(there))
    if is_dataclass(kind):
        return f"a table of {', '.join(field.name for field in fields(kind))}"
    return f"a {getattr(kind, '__name__', kind)}"


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
