"""An experiment's file: read once into a frozen `Experiment`, or refused with all that is wrong; and written back."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from coterie.experiments import methods, toml
from coterie.experiments.experiment import Entry, Experiment
from coterie.experiments.lines import lines_of
from coterie.experiments.problems import BadInputError, Problem
from coterie.experiments.reading import UNSAID, Overrides, Reader
from coterie.rooms import ROOMS, kebab

TABLES = frozenset({"partition", "world", "training", "entries"})
"""Fields of an experiment that are tables in the file."""


Where = Callable[[tuple[str, ...]], str]
"""Says where a setting was given: on which line of the file, or by which flag."""


def load(path: str | Path, overrides: Overrides | None = None) -> Experiment:
    """Reads an experiment's file; what stands in `overrides` counts more than what the file says."""
    return located(path, overrides)[0]


def located(path: str | Path, overrides: Overrides | None = None) -> tuple[Experiment, Where]:
    """Reads an experiment's file, and remembers where each setting was given."""
    path = Path(path)
    try:
        experiment, where = parse(path.read_text(encoding="utf-8"), overrides)
        return experiment, lambda setting: _inside(path, where(setting))
    except UnicodeDecodeError as error:
        raise BadInputError([Problem(str(path), f"is no text in UTF-8 ({error.reason} at byte {error.start})")]) from None
    except OSError as error:
        raise BadInputError([Problem(str(path), f"cannot be read: {error.strerror}")]) from None
    except BadInputError as bad:
        raise BadInputError([replace(one, where=_inside(path, one.where)) for one in bad.problems]) from None


def parse(text: str, overrides: Overrides | None = None) -> tuple[Experiment, Where]:
    """Reads the text of an experiment's file."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).partition(" (at ")
        raise BadInputError([Problem(place.rstrip(")"), f"this is not TOML: {what}")]) from None
    except (RecursionError, ValueError) as error:
        raise BadInputError([Problem("", f"this is not TOML that can be read: {error}")]) from None
    reader = Reader(document, lines_of(text))
    for path, (flag, given) in (overrides or {}).items():
        reader.override(path, flag, given)
    return reader.experiment(), reader.where


def document(experiment: Experiment) -> dict[str, Any]:
    """An experiment as the plain values of its file, everything spelled out."""
    top = {one.name: plain(getattr(experiment, one.name)) for one in fields(Experiment) if one.name not in TABLES}
    return {
        **top,
        "methods": list(experiment.labels),
        "partition": {"scheme": kebab(type(experiment.partition).__module__), **plain(experiment.partition)},
        "training": plain(experiment.training),
        "world": {name: one for name, one in plain(experiment.world).items() if name not in UNSAID},
        "set": {entry.label: _settings(entry) for entry in experiment.entries},
    }


def text(experiment: Experiment) -> str:
    """An experiment as the text of its file, which `parse` reads back."""
    return toml.dumps(document(experiment))


def plain(value: Any) -> Any:
    """A setting as TOML holds it: a rule as its name or a table with its name, another dataclass as a table."""
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if not is_dataclass(value):
        return value
    table = {one.name: plain(getattr(value, one.name)) for one in fields(value) if one.init}
    if not isinstance(value, tuple(ROOMS.values())):
        return {name: item for name, item in table.items() if item is not None}
    name = kebab(type(value).__module__)
    return {"name": name, **table} if table else name


def _settings(entry: Entry) -> dict[str, Any]:
    """All settings of a method, those that were not given with their defaults."""
    if entry.recipe is not None:
        return {"method": entry.method}
    known = methods.parameters(entry.method)
    own = {name: one.default for name, one in known.items() if name not in ("per_round", "backbone")}
    table = {name: plain(entry.settings.get(name, default)) for name, default in own.items()}
    return {"method": entry.method, **table, **plain(entry.settings)}


def _inside(path: Path, where: str) -> str:
    """'line 3' becomes 'FILE, line 3'; a flag stays a flag."""
    return where if where.startswith("-") else f"{path}, {where}" if where else str(path)
