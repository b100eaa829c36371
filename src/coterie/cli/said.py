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
    if target is not None and target != "-":
        check_folder("--json", Path(target))


def check_folder(flag: str, file: Path | None) -> None:
    """Refuses a file whose folder is not there, or that is a folder."""
    if file is None:
        return
    if file.is_dir():
        raise wrong(flag, f"{file} is a folder, not a file")
    if not file.resolve().parent.is_dir():
        raise wrong(flag, f"there is no folder {file.resolve().parent}")


def wrong(where: str, what: str) -> ValueError:
    """Bad input, with the flag that is to blame."""
    from coterie.experiments.problems import BadInputError, Problem

    return BadInputError([Problem(where, what)])


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
