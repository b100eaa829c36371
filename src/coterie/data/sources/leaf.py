"""FEMNIST as LEAF writes it: JSON files in `train/` and `test/`, samples grouped by writer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from coterie.data.sources.raw import MalformedError, Raw


def read(folder: Path) -> Raw | None:
    """The set in a folder that holds `train/*.json` and `test/*.json`; None where there are none.

    Gray values 0 … 1 (1 is paper) become 0 … 255. Writers are numbered in the order of their names.
    """
    sides = [sorted((folder / side).glob("*.json")) for side in ("train", "test")]
    if not all(sides):
        return None
    train, test = ({name: data for path in paths for name, data in _users(path).items()} for paths in sides)
    names = {name: number for number, name in enumerate(sorted(train))}
    strangers = set(test) - set(names)
    if strangers:
        raise MalformedError(f"{folder}: {len(strangers)} writers stand in test/ only, such as {min(strangers)}")
    x, y, owners = _joined(train, names, folder)
    x_test, y_test, owners_test = _joined(test, names, folder)
    return Raw(x, y, x_test, y_test, owners, owners_test)


def _users(path: Path) -> dict[str, Any]:
    try:
        users = json.loads(path.read_text())["user_data"]
        return {str(name): (data["x"], data["y"]) for name, data in users.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise MalformedError(f"{path}: this is no JSON file of LEAF ({error})") from None


def _joined(users: dict[str, Any], names: dict[str, int], folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    try:
        x = np.concatenate([np.asarray(users[name][0], dtype=np.float32).reshape(-1, 784) for name in sorted(users)])
        y = np.concatenate([np.asarray(users[name][1], dtype=np.int64) for name in sorted(users)])
        owners = np.repeat([names[name] for name in sorted(users)], [len(users[name][1]) for name in sorted(users)])
        if len(x) != len(y) or not len(x) or not (x.min() >= 0 and x.max() <= 1):
            raise ValueError("as many labels as images are needed, and gray values from 0 to 1")
    except (ValueError, TypeError, OverflowError) as error:
        raise MalformedError(f"{folder}: the samples are not FEMNIST's ({error})") from None
    return np.rint(x * 255).astype(np.uint8).reshape(-1, 1, 28, 28), y, owners.astype(np.intp)
