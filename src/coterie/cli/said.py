"""What commands print: JSON for machines on request, and nothing else on standard output then."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

Json = Annotated[
    str | None, typer.Option("--json", metavar="-|FILE", help="Write the results as JSON, to a file or (-) to standard output.")
]


PAPER = 160
"""Columns where output goes to no terminal."""


def check_json(target: str | None) -> None:
    """Refuses a file that could not be written, before any work is done."""
    from coterie.experiments.problems import BadInputError, Problem

    if target is None or target == "-":
        return
    folder = Path(target).resolve().parent
    if not folder.is_dir() or Path(target).is_dir():
        what = f"{target} is a folder, not a file" if Path(target).is_dir() else f"there is no folder {folder}"
        raise BadInputError([Problem("--json", what)])


def write_json(target: str | None, document: Mapping[str, Any]) -> None:
    """Writes JSON if it was asked for. NaN and infinities, which JSON does not have, become null."""
    if target is None:
        return
    text = json.dumps(_clean(document), indent=2, ensure_ascii=False)
    if target == "-":
        print(text)
        return
    from coterie.experiments import whole

    whole.write_text(Path(target), text + "\n")


def console(json_target: str | None = None, *, progress: bool = False) -> Console:
    """Where people read: standard output, or the error stream if that is taken by JSON, and always for progress."""
    from rich.console import Console

    stream = sys.stderr if progress or json_target == "-" else sys.stdout
    return Console(file=stream, highlight=False, width=None if stream.isatty() else PAPER)


def _clean(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _clean(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
