"""Samples to learn from and samples to be judged on, as plain arrays."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """A learning task: `n` training samples, and test samples that nobody trains on.

    >>> tiny = Dataset.of("tiny", [[0.0], [1.0]], [0, 1], [[0.5]], [1])
    >>> len(tiny), tiny.classes, tiny.shape
    (2, 2, (1,))
    """

    name: str
    x: Float32[np.ndarray, "n ..."]
    y: NDArray[Any]
    """Labels 0 … classes−1 (int64), or float32 targets of a regression."""
    x_test: Float32[np.ndarray, "m ..."]
    y_test: NDArray[Any]
    classes: int
    """Number of labels; 0 for a regression."""
    fingerprint: str
    """SHA-256 of the content, in hexadecimal digits."""
    owners: NDArray[np.intp] | None = None
    """The natural client of each training sample, 0, 1, …, where the data have such."""
    owners_test: NDArray[np.intp] | None = None

    def __post_init__(self) -> None:
        for x, y, owners, where in [
            (self.x, self.y, self.owners, "training"),
            (self.x_test, self.y_test, self.owners_test, "test"),
        ]:
            self._check(x, y, owners, where)
        if self.x.shape[1:] != self.x_test.shape[1:]:
            raise ValueError(
                f"{self.name}: training samples have shape {self.x.shape[1:]}, test samples {self.x_test.shape[1:]}"
            )

    def _check(self, x: NDArray[Any], y: NDArray[Any], owners: NDArray[np.intp] | None, where: str) -> None:
        if x.ndim < 2 or len(x) == 0:
            raise ValueError(f"{self.name}: the {where} samples must be an array (samples, …) that is not empty, not {x.shape}")
        if len(y) != len(x) or (owners is not None and len(owners) != len(x)):
            raise ValueError(f"{self.name}: {len(x)} {where} samples, but {len(y)} labels or another number of owners")
        if not (np.isfinite(x.min()) and np.isfinite(x.max())):
            raise ValueError(f"{self.name}: the {where} samples hold NaN or infinite values")
        if self.classes and (y.ndim != 1 or y.min() < 0 or y.max() >= self.classes):
            raise ValueError(f"{self.name}: {where} labels must be 0 … {self.classes - 1}, found {y.min()} … {y.max()}")
        if not self.classes and not np.isfinite(y).all():
            raise ValueError(f"{self.name}: the {where} targets hold NaN or infinite values")

    @classmethod
    def of(
        cls,
        name: str,
        x: ArrayLike,
        y: ArrayLike,
        x_test: ArrayLike,
        y_test: ArrayLike,
        *,
        classes: int | None = None,
        owners: ArrayLike | None = None,
        owners_test: ArrayLike | None = None,
    ) -> Dataset:
        """Makes a dataset from arrays: whole-number labels mean classification, anything else regression."""
        x, x_test = _samples(name, x), _samples(name, x_test)
        y, y_test = np.asarray(y), np.asarray(y_test)
        if classes is None:
            classes = int(max(y.max(initial=-1), y_test.max(initial=-1))) + 1 if _whole(y) and _whole(y_test) else 0
        kind = np.int64 if classes else np.float32
        y, y_test = (np.ascontiguousarray(side, dtype=kind) for side in (y, y_test))
        naturals = [None if side is None else np.asarray(side, dtype=np.intp) for side in (owners, owners_test)]
        return cls(name, x, y, x_test, y_test, classes, fingerprint(x, y, x_test, y_test), *naturals)

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        task = f"{self.classes} classes" if self.classes else "regression"
        return f"Dataset({self.name!r}, {len(self.x)} + {len(self.x_test)} samples of shape {self.shape}, {task})"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample."""
        return tuple(self.x.shape[1:])


def fingerprint(*arrays: NDArray[Any]) -> str:
    """SHA-256 over shapes, types and bytes."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.shape}{array.dtype.str}".encode())
        digest.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    return digest.hexdigest()


def _samples(name: str, x: ArrayLike) -> Float32[np.ndarray, "n ..."]:
    try:
        return np.ascontiguousarray(x, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: the samples are no array of numbers ({error})") from None


def _whole(y: NDArray[Any]) -> bool:
    return bool(np.issubdtype(y.dtype, np.integer))
