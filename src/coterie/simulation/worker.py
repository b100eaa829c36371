"""What a forked worker does, from its first breath to its last."""

from __future__ import annotations

import gc
import os
import signal
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from struct import Struct
from typing import Any

import torch

from coterie.simulation.clients import Clients
from coterie.simulation.path import Path
from coterie.simulation.shelf import Parcel, Shelf
from coterie.threads import one_thread

TICKET = Struct("=i")
"""The number of a task, drawn from a pipe that all workers read: whoever is free draws the next."""
END = -1
"""A ticket that says there are no more; one for each worker."""


ROOM = 2**24
"""Bytes of arrays that lie on a shelf at once, give or take one task's."""


@dataclass(frozen=True)
class Failed:
    """What stands for the result of a task that failed."""

    error: Exception
    unreadable: bool = False
    """The task could not even be unpickled, perhaps because its class was written after the worker began."""


@dataclass(frozen=True)
class Post:
    """Where a worker sits: its ends of the pipes, and the shelves that tasks come from and results go to."""

    line: Connection
    """Parcels come; numbered parcels go back, and whether these are the last."""
    tickets: int
    lifeline: int
    """Nobody writes here. It ends when the parent does."""
    inbox: Shelf
    outbox: Shelf


def work(path: Path, clients: Clients, post: Post, parents: tuple[int, ...]) -> None:
    """Does tasks until the parent is gone. `parents` are inherited ends of pipes that the parent alone shall hold."""
    for end in parents:
        os.close(end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_die_with_parent, args=(post.lifeline,), daemon=True).start()
    gc.freeze()
    with torch_on_one_thread():
        while True:
            parcels: list[Parcel] = post.line.recv()
            done: list[tuple[int, Parcel]] = []
            for number in _drawn(post.tickets):
                done.append((number, _done(path, clients, post, parcels[number])))
                if post.outbox.used > ROOM:
                    post.line.send((done, False))
                    done = post.line.recv()
                    post.outbox.clear()
            post.line.send((done, True))
            post.outbox.clear()


@contextmanager
def torch_on_one_thread() -> Iterator[None]:
    """One thread for PyTorch and for all other numerics, as long as it lasts."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with one_thread():
            yield
    finally:
        torch.set_num_threads(before)


def _drawn(tickets: int) -> Iterator[int]:
    while (number := TICKET.unpack(os.read(tickets, TICKET.size))[0]) != END:
        yield number


def _done(path: Path, clients: Clients, post: Post, parcel: Parcel) -> Parcel:
    try:
        task = post.inbox.take(parcel, copy=False)
    except Exception as error:
        return _laid(post.outbox, Failed(error, unreadable=True))
    try:
        return _laid(post.outbox, task.run(path, clients))
    except Exception as error:
        error.add_note("".join(["In a worker:\n", *traceback.format_exception(error)]))
        return _laid(post.outbox, Failed(error))


def _laid(outbox: Shelf, result: Any) -> Parcel:
    try:
        return outbox.lay([result])[0]
    except Exception as error:
        what = result.error if isinstance(result, Failed) else result
        told = RuntimeError(f"a worker cannot send {what!r}: {error}")
        return outbox.lay([Failed(told)])[0]


def _die_with_parent(lifeline: int) -> None:
    os.read(lifeline, 1)
    os._exit(1)
