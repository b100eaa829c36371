"""Which rules there are: what every room exports, and what other packages add to it."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import isabstract, isclass
from types import MappingProxyType
from typing import Any

from coterie.rules import Aggregator, Backbone, Believer, Former, Listener, Reporter, Selector

ROOMS: Mapping[str, type] = MappingProxyType(
    {
        "selectors": Selector,
        "coalitions": Former,
        "neighbors": Listener,
        "aggregators": Aggregator,
        "backbones": Backbone,
        "trust": Believer,
        "privacy": Reporter,
    }
)
"""What the rules of each room have to be. A room is also a group of entry points: `coterie.selectors` and so on."""


@cache
def rules(room: str) -> Mapping[str, type[Any]]:
    """All rules of a room by name: our own, then those that installed packages add by entry points.

    >>> rules("aggregators")["trimmed-mean"]
    <class 'coterie.aggregators.trimmed_mean.TrimmedMean'>
    """
    module, kind = import_module(f"coterie.{room}"), ROOMS[room]
    ours = [rule for rule in (getattr(module, name) for name in module.__all__) if isclass(rule) and issubclass(rule, kind)]
    files = Counter(rule.__module__ for rule in ours)
    named = {kebab(rule.__module__ if files[rule.__module__] == 1 else rule.__name__): rule for rule in ours}
    return MappingProxyType(
        {**added(room, lambda rule: isclass(rule) and issubclass(rule, kind) and not isabstract(rule)), **named}
    )


def added(room: str, fits: Any) -> dict[str, Any]:
    """What installed packages offer in a group of entry points. What does not load or fit is left out with a warning."""
    found = {}
    for point in entry_points(group=f"coterie.{room}"):
        thing = _load(point)
        if thing is not None and fits(thing):
            found[point.name] = thing
        elif thing is not None:
            warnings.warn(f"{point.value} is no rule for the entry points '{point.group}' and is left out", stacklevel=2)
    return found


def _load(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:
        warnings.warn(f"{point.value}, of the entry points '{point.group}', does not load: {error}", stacklevel=3)
        return None


def kebab(name: str) -> str:
    """The name of a method, from a file's or a class's.

    >>> kebab("coterie.selectors.power_of_choice"), kebab("DitchTheWorst"), kebab("ActiveFL")
    ('power-of-choice', 'ditch-the-worst', 'active-fl')
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.rpartition(".")[2])
    return words.replace("_", "-").lower()
