"""One process at a time: a lock on a file, which the system lets go of when its holder dies."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # no such locks on this system: two processes must not be started on one run
    fcntl = None  # type: ignore[assignment]


class BusyError(Exception):
    """Another process holds the lock."""


@contextmanager
def held(path: Path, patience: float = 0.0) -> Iterator[None]:
    """Holds the lock; waits for it so many seconds, then raises `BusyError`."""
    with path.open("w") as file:
        end = time.monotonic() + patience
        while fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() >= end:
                    raise BusyError(f"{path.parent}: another process is at work on it") from None
                time.sleep(0.05)
        yield
