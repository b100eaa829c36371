"""A client's account in a file, so that what it has spent survives whatever kills its process."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from coterie.privacy.budget import Budget

try:
    import fcntl
except ImportError:  # no such locks on this system: two processes must not answer for one client
    fcntl = None  # type: ignore[assignment]


@contextmanager
def durable(path: Path) -> Iterator[Budget]:
    """The account of one client, whom the budget calls 0; what is told within is on disk when the block ends.

    So an answer that leaves after the block is in the account, whenever the process dies; one that was charged and never
    left is charged all the same, and told again for nothing. An account that cannot be read is an error, not a new one.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with durable(Path(folder) / "account.json") as budget:
    ...         budget.put(0, "size of 0 @0", np.array([41.3]), epsilon=0.6)
    ...     with durable(Path(folder) / "account.json") as again:
    ...         print(again.spent.tolist(), again.told(0, "size of 0 @0").tolist())
    [0.6] [41.3]
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("a") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        budget = _read(path)
        yield budget
        _write(path, budget)


def _read(path: Path) -> Budget:
    budget = Budget(1)
    if not path.exists():
        return budget
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        spent = np.array([kept["spent"]], np.float64)
        answers = {str(address): {0: np.array(told, np.float64)} for address, told in kept["answers"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: holds no account that can be read ({error}); nothing is told until it does") from None
    if not (np.isfinite(spent).all() and (spent >= 0).all()):
        raise ValueError(f"{path}: what was spent must be a number from 0, not {kept['spent']!r}; nothing is told until it is")
    budget.spent, budget.answers = spent, answers
    return budget


def _write(path: Path, budget: Budget) -> None:
    """Beside it first, made durable, then put in place in one step."""
    told = {address: answers[0].tolist() for address, answers in sorted(budget.answers.items())}
    draft = path.with_name(f".{path.name}.new")
    with draft.open("w", encoding="utf-8") as file:
        json.dump({"spent": float(budget.spent[0]), "answers": told}, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
