"""IDX files, the format of MNIST and its kin: a header of big-endian sizes, then bytes."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from jaxtyping import UInt8
from numpy.typing import NDArray

from coterie.data.sources.raw import MalformedError, Raw

PARTS = {
    "x": "train-images-idx3-ubyte",
    "y": "train-labels-idx1-ubyte",
    "x_test": "t10k-images-idx3-ubyte",
    "y_test": "t10k-labels-idx1-ubyte",
}
"""The usual names of the four files."""


def read(folder: Path, prefix: str = "") -> Raw | None:
    """The set in a folder, plain or gzipped; None where the folder does not hold all four files.

    EMNIST's files have a prefix such as `emnist-balanced-`, and say `test` instead of `t10k`.
    """
    paths = {part: find(folder, name, prefix) for part, name in PARTS.items()}
    if None in paths.values():
        return None
    arrays = {part: parse(path) for part, path in paths.items() if path is not None}
    return Raw(*(_images(arrays[x], folder) if x[0] == "x" else _labels(arrays[x], folder) for x in PARTS))


def find(folder: Path, name: str, prefix: str = "") -> Path | None:
    """The file of that name, or of one of its usual spellings."""
    stem = prefix + (name.replace("t10k", "test") if prefix else name)
    spellings = [stem, stem.replace("-idx", ".idx")]
    return next((path for spelling in spellings for end in ("", ".gz") if (path := folder / (spelling + end)).is_file()), None)


def parse(path: Path) -> NDArray[np.uint8]:
    """The array in one file."""
    content = _content(path)
    if len(content) < 4 or content[:3] != b"\0\0\x08" or not 1 <= content[3] <= 4:
        raise MalformedError(f"{path}: this is no IDX file of bytes (it starts with {content[:4].hex(' ') or 'nothing'})")
    start = 4 + 4 * content[3]
    shape = tuple(int.from_bytes(content[at : at + 4], "big") for at in range(4, start, 4))
    if len(content) < start or len(content) - start != int(np.prod(shape, dtype=object)):
        raise MalformedError(f"{path}: the header promises an array {shape}, but {max(len(content) - start, 0)} bytes follow")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def files(raw: Raw) -> Iterator[tuple[str, list[bytes | memoryview]]]:
    """The four standard files that hold a set, each as pieces to write or to hash."""
    for part, name in PARTS.items():
        array: NDArray[np.uint8] = getattr(raw, part).astype(np.uint8, copy=False)
        shape = (len(array), *array.shape[2:])
        header = bytes([0, 0, 8, len(shape)]) + b"".join(size.to_bytes(4, "big") for size in shape)
        yield name, [header, np.ascontiguousarray(array).data.cast("B") if array.size else b""]


def _content(path: Path) -> bytes:
    if path.suffix != ".gz":
        return path.read_bytes()
    try:
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise MalformedError(f"{path}: cannot be unpacked ({error})") from None


def _images(array: NDArray[np.uint8], folder: Path) -> UInt8[np.ndarray, "n 1 height width"]:
    if array.ndim != 3:
        raise MalformedError(f"{folder}: the images are an array {array.shape}, not (samples, height, width)")
    return array[:, None]


def _labels(array: NDArray[np.uint8], folder: Path) -> NDArray[np.int64]:
    if array.ndim != 1:
        raise MalformedError(f"{folder}: the labels are an array {array.shape}, not (samples,)")
    return array.astype(np.int64)
