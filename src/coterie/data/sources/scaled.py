"""From the bytes of pixels to the numbers that models learn from."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray


def scaled(x: NDArray[Any], mean: float = 0.0, spread: float = 1.0) -> Float32[np.ndarray, "*shape"]:
    """Pixels 0 … 255 as (pixel / 255 − mean) / spread; anything but bytes only as float32.

    >>> scaled(np.array([0, 255], dtype=np.uint8), 0.5, 0.5).tolist()
    [-1.0, 1.0]
    """
    if x.dtype != np.uint8:
        return np.ascontiguousarray(x, dtype=np.float32)
    out = x.astype(np.float32, order="C")
    out *= np.float32(1 / (255 * spread))
    out -= np.float32(mean / spread)
    return out
