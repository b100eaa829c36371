"""Images as their files hold them: bytes, before they become numbers to learn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64, UInt8
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Raw:
    """Pixels 0 … 255, channels first, and labels."""

    x: UInt8[np.ndarray, "n channels height width"]
    y: Int64[np.ndarray, " n"]
    x_test: UInt8[np.ndarray, "m channels height width"]
    y_test: Int64[np.ndarray, " m"]
    owners: NDArray[np.intp] | None = None
    owners_test: NDArray[np.intp] | None = None


class MalformedError(ValueError):
    """A file that is not what its name says."""
