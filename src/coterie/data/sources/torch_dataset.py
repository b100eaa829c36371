"""A PyTorch dataset object as arrays."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from coterie.data.dataset import Dataset
from coterie.data.sources.scaled import scaled


class Pairs(Protocol):
    """What a PyTorch dataset offers: pairs of a sample and its label or target."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Any: ...


def from_torch(train: Pairs, test: Pairs, name: str = "torch") -> Dataset:
    """Reads two PyTorch datasets once, front to back, transforms and all.

    Samples may be tensors, arrays or pictures; bytes are divided by 255. Whole-number labels mean classification.

    >>> import torch
    >>> pairs = torch.utils.data.TensorDataset(torch.eye(4), torch.tensor([0, 1, 0, 1]))
    >>> from_torch(pairs, pairs, "eye")
    Dataset('eye', 4 + 4 samples of shape (4,), 2 classes)
    """
    (x, y), (x_test, y_test) = (_arrays(side, name, where) for side, where in [(train, "training"), (test, "test")])
    return Dataset.of(name, x, y, x_test, y_test)


def _arrays(pairs: Pairs, name: str, where: str) -> tuple[NDArray[np.float32], NDArray[Any]]:
    if not _sized(pairs) or not len(pairs):
        raise ValueError(f"{name}: the {where} dataset must have a length above 0 and items that can be indexed")
    try:
        rows = [pairs[index] for index in range(len(pairs))]
        return scaled(np.stack([np.asarray(x) for x, _ in rows])), np.stack([np.asarray(y) for _, y in rows])
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: each item of the {where} dataset must be a pair of arrays of one shape ({error})") from None


def _sized(pairs: object) -> TypeGuard[Pairs]:
    return isinstance(pairs, Sized) and hasattr(pairs, "__getitem__")
