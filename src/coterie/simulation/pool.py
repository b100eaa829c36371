"""Workers, one a core, that share the clients' data.

They are processes and not threads: two threads wait for each other around every small operation, and PyTorch's
dice are one for all threads.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import warnings
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from coterie.simulation.clients import Clients
from coterie.simulation.path import Path
from coterie.simulation.shelf import Shelf
from coterie.simulation.work import Alone, Crew, Outcome, Task
from coterie.simulation.worker import END, ROOM, TICKET, Failed, Post, torch_on_one_thread, work

MOST = 10_000
"""Tasks that are on their way at once: their tickets fit into a pipe."""


def hire(path: Path, clients: Clients, workers: int | None = None, device: str = "cpu") -> Crew:
    """Those who do the tasks: one worker a core if `workers` is None, this process alone if it is 1.

    It is alone too on a GPU, on systems other than Linux, and inside a worker of somebody else's pool.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers: must be a whole number from 1, or None for one a core, not {workers!r}")
    forks = sys.platform == "linux" and not multiprocessing.current_process().daemon
    if workers == 1 or device != "cpu" or not forks:
        return Single(path, clients)
    count = workers or len(os.sched_getaffinity(0))
    return Pool(path, clients, count) if count > 1 else Single(path, clients)


class Single(Alone):
    """This process, on one thread like every worker, so that results are the same bytes."""

    def run(self, tasks: Sequence[Task[Outcome]]) -> list[Outcome]:
        """Does one task after another."""
        with torch_on_one_thread():
            return super().run(tasks)


class Pool:
    """Forked workers. Which of them does a task is not visible in its result.

    Whoever is free takes the next task. Workers begin when there is something to do, end with `close` (and begin
    again after it), and die with their parent, however it dies.
    """

    def __init__(self, path: Path, clients: Clients, workers: int) -> None:
        self.path, self.clients, self.workers = path, clients, workers
        self.office: Office | None = None

    def run(self, tasks: Sequence[Task[Outcome]]) -> list[Outcome]:
        """Returns the results in the order of the tasks, or raises the failure of the first that failed."""
        results: list[Outcome] = []
        try:
            while len(results) < len(tasks):
                results += self._wave(tasks[len(results) :])
        except BaseException:
            self.close()
            raise
        return results

    def close(self) -> None:
        """Ends all workers."""
        if self.office is not None:
            self.office.close()
        self.office = None

    def __del__(self) -> None:
        self.close()

    def _wave(self, tasks: Sequence[Task[Outcome]], again: bool = True) -> list[Outcome]:
        """Has as many of the tasks done as there is room for; by new workers if these are too old to know their classes."""
        self.office = self.office or Office(self.path, self.clients, self.workers)
        results = self.office.run(tasks)
        failed = next((result for result in results if isinstance(result, Failed)), None)
        if failed is None:
            return results
        if failed.unreadable and again:
            self.close()
            return self._wave(tasks, again=False)
        raise failed.error


class Office:
    """Workers that have begun, and what joins them to this process."""

    def __init__(self, path: Path, clients: Clients, workers: int) -> None:
        context = multiprocessing.get_context("fork")
        self.owner = os.getpid()
        drawn, self.tickets = os.pipe()
        ended, self.lifeline = os.pipe()
        self.inbox, self.outboxes = Shelf(), [Shelf() for _ in range(workers)]
        self.lines, self.processes = [], []
        for outbox in self.outboxes:
            ours, theirs = context.Pipe()
            post = Post(theirs, drawn, ended, self.inbox, outbox)
            process = context.Process(target=work, args=(path, clients, post, (self.tickets, self.lifeline)), daemon=True)
            with warnings.catch_warnings():  # newer Pythons warn of forks beside threads; workers start threads of their own
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            theirs.close()
            self.lines.append(ours)
            self.processes.append(process)
        os.close(drawn)
        os.close(ended)

    def run(self, tasks: Sequence[Task[Outcome]]) -> list[Any]:
        """Returns the results, or failures, of as many tasks as there is room for, in their order."""
        self.inbox.clear()
        parcels = self.inbox.lay(tasks[:MOST], ROOM)
        try:
            for line in self.lines:
                line.send(parcels)
            os.write(self.tickets, b"".join(map(TICKET.pack, [*range(len(parcels)), *[END] * len(self.lines)])))
            return self._collected(len(parcels))
        except (EOFError, OSError) as error:
            raise RuntimeError(f"a worker {self._fate()}; was it killed, or out of memory?") from error

    def _collected(self, count: int) -> list[Any]:
        """Takes the results off the workers' shelves as these fill up."""
        results: list[Any] = [None] * count
        working = dict(zip(self.lines, self.outboxes, strict=True))
        while working:
            for line in [line for line in wait(list(working)) if isinstance(line, Connection)]:
                done, last = line.recv()
                for number, parcel in done:
                    results[number] = working[line].take(parcel, copy=True)
                if last:
                    del working[line]
                else:
                    line.send([])
        return results

    def close(self) -> None:
        """Ends the workers at once; they hold nothing that is worth a farewell.

        A process that was forked later holds a copy of this, which it may drop but not close.
        """
        if os.getpid() != self.owner:
            return
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.join()
        for line in self.lines:
            line.close()
        for end in (self.tickets, self.lifeline):
            os.close(end)
        for shelf in (self.inbox, *self.outboxes):
            shelf.close()

    def _fate(self) -> str:
        """How the first worker to end ended."""
        for process in self.processes:
            process.join(0.1)
        codes = [process.exitcode for process in self.processes if process.exitcode is not None]
        return f"ended with exit code {codes[0]}" if codes else "closed its line"
