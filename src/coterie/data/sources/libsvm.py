"""USPS in LIBSVM's text format, the one that torchvision keeps: `usps` and `usps.t`, plain or compressed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from coterie.data.sources.raw import MalformedError, Raw

NAMES = {"train": "usps", "test": "usps.t"}


def read(folder: Path) -> Raw | None:
    """The set in a folder; None where it is not there. Values −1 … 1 become 0 … 255, labels 1 … 10 become 0 … 9."""
    paths = [_find(folder, name) for name in NAMES.values()]
    if None in paths:
        return None
    (x, y), (x_test, y_test) = (_side(path) for path in paths if path is not None)
    return Raw(x, y, x_test, y_test)


def _find(folder: Path, name: str) -> Path | None:
    return next((path for end in ("", ".bz2", ".gz") if (path := folder / (name + end)).is_file()), None)


def _side(path: Path) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_svmlight_file

    try:
        rows, labels = load_svmlight_file(str(path), n_features=256)
        values = rows.toarray()
        if not len(values) or np.abs(values).max() > 1 or not np.isin(labels, range(1, 11)).all():
            raise ValueError("values must be −1 … 1 and labels 1 … 10")
    except Exception as error:
        raise MalformedError(f"{path}: this is not USPS in LIBSVM's format ({error})") from None
    pixels = np.rint((values + 1) * 127.5).astype(np.uint8)
    return pixels.reshape(-1, 1, 16, 16), labels.astype(np.int64) - 1
