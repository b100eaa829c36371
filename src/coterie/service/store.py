"""The database, and the one lane through which everything is written.

All writes go one after another, in one thread and, by a lock in the database, over all processes: money, reputations and
the audit log are decided on what is there, not on what was there a moment ago. Writes that wait together share one
transaction, each behind a savepoint, and are answered when it is on disk. So one slow disk carries many durable writes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, insert, make_url, text, update
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from coterie.service import audit_log as log
from coterie.service import crashes
from coterie.service.tables import audit_head, audit_log, entry_of

Given = ParamSpec("Given")
Result = TypeVar("Result")
Rows = Mapping[str, Any] | Sequence[Mapping[str, Any]]

TOGETHER = 64
"""At most so many writes share a transaction."""
LOCK = 7_046_293
"""PostgreSQL's name for the lane."""


class Write:
    """A write under way: what it adds is in the log, and all of it is there or nothing."""

    def __init__(self, connection: Connection, head: log.Head, now: float) -> None:
        self.connection, self.head = connection, head
        self.at = max(now, head.at)
        """The time of all that is written here; it never runs backwards."""
        self.actor = 0
        self._log: list[dict[str, Any]] = []

    def add(self, table: Table, rows: Rows, action: str) -> int:
        """Adds a row, or rows, and the entry of the log that says so. Returns the entry's number, which is a row's id."""
        number = self.head.number + 1
        name = entry_of(table).name
        listed = [rows] if isinstance(rows, Mapping) else rows
        made = [{**row, name: number, "at": self.at} for row in listed]
        crashes.passing(f"{table.name}/before")
        if made:
            self.connection.execute(insert(table), made)
        crashes.passing(f"{table.name}/after")
        row = log.entry(self.head, self.at, self.actor, action[:400], table.name, log.digest(table, made))
        self._log.append(row)
        self.head = log.Head(number, row["hash"], self.at)
        return number

    @contextmanager
    def alone(self, actor: int) -> Iterator[None]:
        """A part that is undone as a whole where it fails."""
        before, head, actor_before = len(self._log), self.head, self.actor
        try:
            with self.connection.begin_nested():
                self.actor = actor
                yield
        except Exception:
            del self._log[before:]
            self.head = head
            raise
        finally:
            self.actor = actor_before

    def flush(self) -> None:
        """Writes down what the log gained."""
        if not self._log:
            return
        self.connection.execute(insert(audit_log), self._log)
        self._log.clear()
        crashes.passing("lane/log written")
        values = {"number": self.head.number, "hash": self.head.hash}
        if not self.connection.execute(update(audit_head).values(values)).rowcount:
            self.connection.execute(insert(audit_head).values(single=1, **values))


@dataclass(frozen=True, eq=False)
class _Job:
    actor: int
    action: Callable[[Write], Any]
    answer: Future[Any]


class Store:
    """A market's database."""

    def __init__(self, url: str | URL, clock: Callable[[], float] = time.time) -> None:
        self.engine, self.clock = _engine(url), clock
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: Thread | None = None

    @property
    def url(self) -> str:
        """Where it is, without a password."""
        return self.engine.url.render_as_string()

    def read(self) -> Connection:
        """A connection that sees one moment; use it in a `with`."""
        return self.engine.connect()

    def write(
        self,
        actor: int,
        action: Callable[Concatenate[Write, Given], Result],
        *given: Given.args,
        **named: Given.kwargs,
    ) -> Result:
        """Does something that writes and returns what it returns, once it is on disk."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=self._run, name="lane", daemon=True)
            self._thread.start()
        answer: Future[Result] = Future()
        self._jobs.put(_Job(actor, lambda write: action(write, *given, **named), answer))
        return answer.result()

    def close(self) -> None:
        """Ends the lane when all that waits is done, and lets the database go."""
        if self._thread is not None and self._thread.is_alive():
            self._jobs.put(None)
            self._thread.join()
        self._thread = None
        self.engine.dispose()

    def _run(self) -> None:
        while True:
            jobs: list[_Job | None] = [self._jobs.get()]
            while len(jobs) < TOGETHER:
                try:
                    jobs.append(self._jobs.get_nowait())
                except Empty:
                    break
            self._together([job for job in jobs if job is not None])
            if None in jobs:
                return

    def _together(self, jobs: list[_Job]) -> None:
        """Carries out writes in one transaction; those that fail leave nothing, the others are not touched by it."""
        if not jobs:
            return
        outcomes: list[tuple[Any, BaseException | None]] = []
        try:
            with self.engine.connect().execution_options(writes=True) as connection, connection.begin():
                if self.engine.dialect.name == "postgresql":
                    connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))
                crashes.passing("lane/began")
                write = Write(connection, log.head_of(connection), self.clock())
                outcomes.extend(_done(write, job) for job in jobs)
                write.flush()
                crashes.passing("lane/before commit")
            crashes.passing("lane/committed")
        except Exception as error:  # the transaction is gone, and with it every write in it
            outcomes = [(None, error)] * len(jobs)
        for job, (result, failure) in zip(jobs, outcomes, strict=True):
            if failure is None:
                job.answer.set_result(result)
            else:
                job.answer.set_exception(failure)
        crashes.passing("lane/answered")


def _done(write: Write, job: _Job) -> tuple[Any, BaseException | None]:
    try:
        with write.alone(job.actor):
            return job.action(write), None
    except Exception as error:
        return None, error


def _engine(url: str | URL) -> Engine:
    try:
        made = make_url(url)
        if made.drivername == "postgresql":
            made = made.set(drivername="postgresql+psycopg")
        if made.get_backend_name() not in ("sqlite", "postgresql"):
            raise ValueError(f"'{made.get_backend_name()}' is no database for a market")
        if made.get_backend_name() == "sqlite" and not made.database:
            raise ValueError("a database in memory forgets the money; name a file")
        engine = create_engine(made, pool_pre_ping=made.get_backend_name() == "postgresql", pool_size=20, max_overflow=40)
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        allowed = "sqlite:///FILE or postgresql://USER@HOST/DATABASE"
        raise ValueError(f"{url}: {error}. Allowed: {allowed}") from None
    if made.get_backend_name() == "sqlite":
        if not Path(str(made.database)).resolve().parent.is_dir():
            raise ValueError(f"{url}: there is no folder {Path(str(made.database)).resolve().parent}")
        event.listen(engine, "connect", _sqlite_connected)
        event.listen(engine, "begin", _sqlite_begins)
    return engine


def _sqlite_connected(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where SQLAlchemy says so
    connection.execute("PRAGMA busy_timeout = 30000")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _sqlite_begins(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")
