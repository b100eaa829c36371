"""Datasets of the Hugging Face Hub: by its library (extra `hf`), or from parquet files that its cache holds."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie.data.dataset import Dataset
from coterie.data.sources.raw import MalformedError, Raw
from coterie.data.sources.scaled import scaled

if TYPE_CHECKING:
    from pyarrow import Table

SAMPLES = ("image", "img", "x", "features", "pixels")
LABELS = ("label", "labels", "fine_label", "character", "y", "target")
OWNERS = ("writer_id", "client_id", "user_id", "user", "owner")


def load(repository: str) -> Dataset:
    """A dataset of the Hub with splits `train` and `test`, downloaded unless its cache has it."""
    return from_hugging_face(download(repository), repository.rpartition("/")[2])


def from_hugging_face(splits: Mapping[str, Any], name: str = "hugging-face") -> Dataset:
    """A `DatasetDict` with splits `train` and `test`, or with `train` alone where samples have owners.

    Images become floats of 0 … 1, channels first. Columns are found by their usual names.
    """
    raw = read({split: table.with_format("arrow")[:] for split, table in splits.items()}, name)
    return Dataset.of(
        name, scaled(raw.x), raw.y, scaled(raw.x_test), raw.y_test, owners=raw.owners, owners_test=raw.owners_test
    )


def download(repository: str) -> Mapping[str, Any]:
    """All splits of a dataset of the Hub, by its library."""
    try:
        from datasets import load_dataset
    except ImportError:
        raise ValueError(f"'{repository}' needs Hugging Face's library; install it with: pip install 'coterie[hf]'") from None
    try:
        return dict(load_dataset(repository))
    except Exception as error:  # the library has no one error of its own
        raise ValueError(f"'{repository}' could not be had from Hugging Face ({error})") from None


def cached(repository: str) -> Raw | None:
    """The parquet files of a dataset in the Hub's cache, if the newest snapshot has both splits."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    snapshots = sorted(
        hub.glob(f"datasets--{repository.replace('/', '--')}/snapshots/*"), key=lambda path: path.stat().st_mtime
    )
    files = sorted(snapshots[-1].rglob("*.parquet")) if snapshots else []
    return read_parquet(files, repository) if files else None


def read_parquet(files: Sequence[Path], name: str) -> Raw:
    """The splits of a dataset as the Hub stores them: `train-00000-of-00001.parquet` and so on."""
    from pyarrow import ArrowException, concat_tables, parquet

    splits: dict[str, list[Table]] = {}
    for path in files:
        try:
            splits.setdefault(path.name.partition("-")[0].removesuffix(".parquet"), []).append(parquet.read_table(path))
        except (ArrowException, OSError) as error:
            raise MalformedError(f"{path}: this is no parquet file ({error})") from None
    return read({split: concat_tables(tables) for split, tables in splits.items()}, name)


def read(splits: Mapping[str, Table], name: str) -> Raw:
    """Images, labels and owners of both splits; with `train` alone the last fifth of each owner's samples is for testing."""
    if "train" not in splits:
        raise MalformedError(f"{name}: there is no split 'train', only {', '.join(sorted(splits)) or 'nothing'}")
    x, y, owners = _columns(splits["train"], name)
    if "test" in splits:
        x_test, y_test, owners_test = _columns(splits["test"], name)
        return Raw(x, y, x_test, y_test) if owners is None else Raw(x, y, x_test, y_test, *_numbered(owners, owners_test))
    if owners is None:
        raise MalformedError(f"{name}: there is no split 'test', and no owners whose samples could be split")
    numbers, _ = _numbered(owners, None)
    test = _last_fifth(numbers)
    return Raw(x[~test], y[~test], x[test], y[test], numbers[~test], numbers[test])


def _columns(table: Table, name: str) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[Any] | None]:
    def column(spellings: Sequence[str]) -> Any:
        return next((table[one].to_pylist() for one in spellings if one in table.column_names), None)

    samples, labels, owners = column(SAMPLES), column(LABELS), column(OWNERS)
    if samples is None or labels is None:
        raise MalformedError(f"{name}: needs columns such as 'image' and 'label', and has {', '.join(table.column_names)}")
    try:
        x, y = np.stack([sample(one) for one in samples]), np.asarray(labels)
    except (OSError, ValueError, TypeError) as error:
        raise MalformedError(f"{name}: the samples cannot be read ({error})") from None
    return x, y, None if owners is None else np.asarray(owners)


def sample(value: Any) -> NDArray[Any]:
    """One cell of a column: a picture as bytes, channels first; anything else as numbers."""
    if not isinstance(value, Mapping):
        return np.asarray(value, dtype=np.float32)
    from PIL import Image

    with Image.open(io.BytesIO(value["bytes"]) if value.get("bytes") else value["path"]) as image:
        pixels = np.asarray(image if image.mode in ("L", "RGB") else image.convert("RGB"))
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)


def _numbered(owners: NDArray[Any], others: NDArray[Any] | None) -> tuple[NDArray[np.intp], NDArray[np.intp] | None]:
    names, numbers = np.unique(owners, return_inverse=True)
    if others is None:
        return numbers, None
    places = np.minimum(np.searchsorted(names, others), len(names) - 1)
    return numbers, np.where(names[places] == others, places, -1)


def _last_fifth(owners: NDArray[np.intp]) -> NDArray[np.bool_]:
    order = np.argsort(owners, kind="stable")
    sizes = np.bincount(owners)
    place = np.empty(len(owners))
    place[order] = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray(place >= np.maximum(np.floor(0.8 * sizes[owners] + 1e-9), 1))
