"""One thread for what must come out the same to the last bit, whatever machine it runs on has to spare.

Matrix products by several threads sum in another order, and rules that iterate turn the last bit into another choice.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for products and other numerics (NumPy, SciPy, scikit-learn) as long as it lasts."""
    with _libraries(len(sys.modules)).limit(limits=1):
        yield


@lru_cache(1)
def _libraries(modules: int) -> Any:
    """Looking for them takes milliseconds, so that is done again only when something was imported since."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
