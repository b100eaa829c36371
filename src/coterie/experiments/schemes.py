"""The ways to part data among clients, by name."""

from __future__ import annotations

import inspect

from coterie import data
from coterie.data import Scheme
from coterie.rooms import kebab


def offered() -> dict[str, type[Scheme]]:
    """All schemes that `coterie.data` exports, by the name of their file.

    >>> offered()["shards"]
    <class 'coterie.data.shards.Shards'>
    """
    kinds = [one for name in data.__all__ if inspect.isclass(one := getattr(data, name)) and issubclass(one, Scheme)]
    return {kebab(kind.__module__): kind for kind in kinds if not inspect.isabstract(kind)}
