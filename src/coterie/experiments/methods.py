"""The methods that an experiment may name: those of the catalog, and any selector class as 'module:Class'."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from coterie import catalog
from coterie.experiments.problems import unknown
from coterie.recipe import Central, Recipe
from coterie.rooms import kebab
from coterie.rules import Backbone, Selector
from coterie.settings import Parameter, parameters_of, read, refuse_unknown

IN_PYTHON = "given in Python"
"""What the file of an experiment says of a method that is an object, not a name."""


def parameters(name: str) -> Mapping[str, Parameter]:
    """What can be set of a method; ValueError if there is none of that name."""
    if name == IN_PYTHON:
        raise ValueError("this method was given in Python; go on with coterie.experiments.resume(RUN, methods={…})")
    if ":" in name:
        return parameters_of(catalog.central(selector(name)))
    if name not in catalog.METHODS:
        raise ValueError(unknown("method", name, catalog.METHODS))
    return catalog.parameters(name)


def recipe(name: str, settings: Mapping[str, Any], per_round: int, backbone: Backbone) -> Recipe:
    """A method as a recipe, by settings as a file gives them."""
    if ":" not in name:
        return catalog.method(name, per_round=per_round, backbone=backbone, settings=settings)
    known = parameters(name)
    refuse_unknown(settings, known)
    common = {"per_round": per_round} if "per_round" in known else {}
    given = {key: known[key].read(value) for key, value in {**common, **settings}.items()}
    made: Central = catalog.central(selector(name))(**{"backbone": backbone, **given})
    return made


def about(name: str) -> dict[str, str]:
    """What a method does, and where it comes from."""
    if name in catalog.METHODS:
        found = catalog.METHODS[name]
        return {"name": name, "summary": found.summary, "source": found.source}
    return {"name": name, "summary": inspect.cleandoc(selector(name).__doc__ or "").partition("\n\n")[0], "source": ""}


def label_of(name: str) -> str:
    """What a method is called in tables: 'mine:DitchTheWorst' is 'ditch-the-worst'."""
    return kebab(name.rpartition(":")[2]) if ":" in name else name


def selector(name: str) -> type[Selector]:
    """The selector class that 'module:Class' names."""
    module, _, attribute = name.partition(":")
    try:
        kind = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"there is no selector '{name}': {error}") from None
    if not (inspect.isclass(kind) and issubclass(kind, Selector)):
        raise ValueError(f"'{name}' is no selector: it must be a class that extends coterie.rules.Selector")
    return kind


def backbone(given: Any, steps: Any) -> Backbone:
    """A backbone by name, or as a table with its name, that goes by an experiment's steps."""
    table = {"name": given} if isinstance(given, str) else dict(given)
    from coterie.rooms import rules

    kind = rules("backbones").get(str(table.get("name")))
    if kind is not None and "steps" in parameters_of(kind):
        table.setdefault("steps", steps)
    made: Backbone = read(Backbone, table)
    return made
