"""Checkpoints of one cell: everything that a later round depends on, two kept, a torn one falls back one."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from coterie.experiments import tree, whole

KEPT = 2
_NAME = re.compile(r"(\d{6,})\.npz")


def save(folder: Path, round: int, state: Any) -> None:
    """Writes the state after a round and drops all but the last two."""
    folder.mkdir(parents=True, exist_ok=True)
    node, arrays = tree.flatten(state)
    text = np.frombuffer(json.dumps(node).encode(), dtype=np.uint8)
    whole.write(folder / file_of(round), lambda file: np.savez(file, tree=text, **arrays))  # type: ignore[arg-type]
    for old in rounds(folder)[KEPT:]:
        (folder / file_of(old)).unlink()


def load(folder: Path, limit: int | None = None) -> tuple[int, Any]:
    """The newest checkpoint, up to a round, that can be read, as its round and state; 0 and None where there is none."""
    for t in rounds(folder):
        if limit is not None and t > limit:
            continue
        try:
            return t, read(folder / file_of(t))
        except (OSError, EOFError, KeyError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error):
            continue
    return 0, None


def cut(folder: Path, last: int) -> None:
    """Forgets every checkpoint that is beyond a round."""
    for t in rounds(folder):
        if t > last:
            (folder / file_of(t)).unlink()


def read(path: Path) -> Any:
    """The state in one file. Zip's checksums tell whether it is whole."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return tree.rebuild(json.loads(arrays.pop("tree").tobytes()), arrays)


def file_of(round: int) -> str:
    """The file of the checkpoint after a round."""
    return f"{round:06d}.npz"


def rounds(folder: Path) -> list[int]:
    """Rounds that have a checkpoint, the newest first."""
    if not folder.is_dir():
        return []
    found = [int(match[1]) for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))]
    return sorted(found, reverse=True)
