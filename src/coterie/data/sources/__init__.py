"""Where datasets come from: one file a source, and the names by which they are loaded."""

from __future__ import annotations

import os

from coterie.data.dataset import Dataset
from coterie.data.sources import digits


def load(name: str, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """Loads a dataset by its name."""
    if name == "digits":
        return digits.load()
    raise ValueError(f"dataset: there is none called '{name}'; allowed: digits")
