"""Papers' tables and figures as experiments: a module each, found by the name of its file.

A module's docstring begins with a sentence that says what it reproduces. Its function `run(options)` does it, prints
what it found beside the paper's numbers, and returns the results as plain values for `--json`.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coterie.experiments.comparison import Watch


@dataclass(frozen=True)
class Options:
    """What the command line says; None for what the reproduction itself would take."""

    setting: str | None = None
    seeds: str | None = None
    """A number of seeds, or a list with commas between."""
    rounds: int | None = None
    methods: str | None = None
    """Names with commas between."""
    data_dir: str | None = None
    jobs: int | None = None
    on: str = "loky"
    out: Path | None = None
    watch: Watch = nullcontext
    """Shows the progress of a run while it is played."""


def names() -> list[str]:
    """All reproductions by name."""
    return sorted(one.name.replace("_", "-") for one in pkgutil.iter_modules(__path__) if not one.name.startswith("_"))


def what(name: str) -> str:
    """What a reproduction reproduces."""
    return inspect.cleandoc(_module(name).__doc__ or "").partition("\n\n")[0].replace("\n", " ")


def run(name: str, options: Options) -> Mapping[str, Any]:
    """Runs a reproduction."""
    found: Mapping[str, Any] = _module(name).run(options)
    return found


def _module(name: str) -> ModuleType:
    return import_module(f"{__name__}.{name.replace('-', '_')}")
