"""Files that are there whole or not at all, whatever is killed when."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO


def write(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Has `fill` write a file beside `path`, makes it durable, then puts it in place in one step."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("wb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    _sync(path.parent)


def write_text(path: Path, text: str) -> None:
    """Writes text as UTF-8."""
    write(path, lambda file: file.write(text.encode()))


def _sync(folder: Path) -> None:
    """Makes the folder's list of names durable too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
