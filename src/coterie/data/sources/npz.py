"""The user's own arrays in a NumPy file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.data.dataset import Dataset
from coterie.data.sources.scaled import scaled

SPELLINGS = {"x": ("x", "x_train"), "y": ("y", "y_train"), "x_test": ("x_test",), "y_test": ("y_test",)}


def load(path: Path) -> Dataset:
    """Reads `x`, `y`, `x_test`, `y_test`, and `owners`, `owners_test` where natural clients are known.

    Samples stand along the first axis, images with channels first. Bytes are divided by 255; other numbers stay
    as they are. Whole-number labels mean classification. Nothing is unpickled.
    """
    arrays = _arrays(path)
    found = {part: next((arrays[name] for name in names if name in arrays), None) for part, names in SPELLINGS.items()}
    missing = ", ".join(part for part, array in found.items() if array is None)
    if missing:
        raise ValueError(f"{path}: {missing} is missing; needed are the arrays x, y, x_test and y_test")
    odd = [name for name, array in found.items() if array is not None and array.dtype.kind not in "biuf"]
    if odd:
        kinds = ", ".join(f"{name} of {found[name].dtype}" for name in odd)  # type: ignore[union-attr]
        raise ValueError(f"{path}: the arrays must hold numbers, or true and false; there is {kinds}")
    x, y, x_test, y_test = (array for array in found.values() if array is not None)
    try:
        return Dataset.of(
            path.stem, scaled(x), y, scaled(x_test), y_test, owners=arrays.get("owners"), owners_test=arrays.get("owners_test")
        )
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{path}: {error}") from None


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    if not path.is_file():
        raise ValueError(f"{path}: there is no such file")
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:  # a broken file may fail anywhere in NumPy, zipfile or zlib
        raise ValueError(f"{path}: this is no .npz file of plain arrays ({error})") from None
