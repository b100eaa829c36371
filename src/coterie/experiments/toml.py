"""Writes plain values as TOML; the standard library only reads it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any


def dumps(document: Mapping[str, Any]) -> str:
    """A document of plain values, tables behind keys. None is left out: TOML has none.

    >>> print(dumps({"rounds": 3, "set": {"oort": {"alpha": 2.0}}, "target": None}))
    rounds = 3
    <BLANKLINE>
    [set.oort]
    alpha = 2.0
    <BLANKLINE>
    """
    return "\n".join(_table((), document)).lstrip("\n") + "\n"


def value(item: Any) -> str:
    """One value as TOML writes it."""
    if isinstance(item, bool):
        return str(item).lower()
    if isinstance(item, int):
        return str(item)
    if isinstance(item, float):
        return repr(item) if math.isfinite(item) else str(item)
    if isinstance(item, str):
        return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(item, list | tuple):
        return f"[{', '.join(map(value, item))}]"
    if isinstance(item, Mapping):
        return "{" + ", ".join(f"{key(name)} = {value(part)}" for name, part in item.items() if part is not None) + "}"
    raise TypeError(f"a {type(item).__name__} cannot be written as TOML")


def key(name: str) -> str:
    """A key, quoted where it must be."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else value(name)


def _table(path: tuple[str, ...], table: Mapping[str, Any]) -> list[str]:
    plain = {name: item for name, item in table.items() if item is not None and not isinstance(item, Mapping)}
    tables = {name: item for name, item in table.items() if isinstance(item, Mapping)}
    lines = [f"{key(name)} = {value(item)}" for name, item in plain.items()]
    if path and (lines or not tables):
        lines = ["", f"[{'.'.join(map(key, path))}]", *lines]
    for name, item in tables.items():
        lines += _table((*path, name), item)
    return lines
