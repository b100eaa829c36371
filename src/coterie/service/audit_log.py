"""The audit log: each entry holds a hash of the rows that it wrote and of the entry before, so nothing changes unseen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Table, select

from coterie.service.tables import AUDITED, audit_head, audit_log, entry_of

Row = Mapping[str, Any]
BEGINNING = "0" * 64
"""Stands for the hash before the first entry."""


@dataclass(frozen=True)
class Head:
    """The last entry."""

    number: int
    hash: str
    at: float


def digest(table: Table, rows: Iterable[Row]) -> str:
    """A hash of rows, in whatever order they come.

    >>> from coterie.service.tables import revocations
    >>> digest(revocations, [{"id": 7, "at": 1.5, "key": 3}])[:8]
    '0d0cc8b4'
    """
    names, order = [column.name for column in table.columns], [column.name for column in table.primary_key]
    plain = sorted(([row[name] for name in names] for row in rows), key=lambda row: [row[names.index(name)] for name in order])
    return hashlib.sha256(json.dumps([table.name, plain], ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()


def entry(head: Head, at: float, actor: int, action: str, wrote: str, rows_digest: str) -> dict[str, Any]:
    """The next entry behind a head."""
    row = {"number": head.number + 1, "at": at, "actor": actor, "action": action, "wrote": wrote, "digest": rows_digest}
    return {**row, "previous": head.hash, "hash": seal({**row, "previous": head.hash})}


def seal(row: Row) -> str:
    """The hash of an entry."""
    names = ("number", "at", "actor", "action", "wrote", "digest", "previous")
    return hashlib.sha256(json.dumps([row[name] for name in names], separators=(",", ":")).encode()).hexdigest()


def head_of(connection: Connection) -> Head:
    """The head as the database has it."""
    found = connection.execute(
        select(audit_head.c.number, audit_head.c.hash, audit_log.c.at).outerjoin(
            audit_log, audit_log.c.number == audit_head.c.number
        )
    ).one_or_none()
    return Head(0, BEGINNING, 0.0) if found is None else Head(found.number, found.hash, found.at or 0.0)


def problems(connection: Connection) -> Iterator[str]:
    """Says what does not hold: an entry that was changed, moved or taken out, and rows that no entry wrote so."""
    head = Head(0, BEGINNING, 0.0)
    expected: dict[str, dict[int, str]] = {name: {} for name in AUDITED}
    for row in connection.execute(select(audit_log).order_by(audit_log.c.number)).mappings():
        number = row["number"]
        if number != head.number + 1:
            yield f"audit log: entry {head.number + 1} is missing"
        if row["previous"] != head.hash:
            yield f"audit log: entry {number} does not follow the one before it"
        if seal(dict(row)) != row["hash"]:
            yield f"audit log: entry {number} was changed"
        if row["at"] < head.at:
            yield f"audit log: entry {number} is earlier than the one before it"
        head = Head(number, row["hash"], row["at"])
        if row["wrote"] not in expected:
            yield f"audit log: entry {number} wrote '{row['wrote']}', which is no table"
        else:
            expected[row["wrote"]][number] = row["digest"]
    last = head_of(connection)
    if (last.number, last.hash) != (head.number, head.hash):
        yield f"audit log: it ends with entry {head.number}, but its head is entry {last.number}"
    for name, table in AUDITED.items():
        yield from _rows_problems(connection, table, expected[name])


def _rows_problems(connection: Connection, table: Table, expected: dict[int, str]) -> Iterator[str]:
    column = entry_of(table)
    ordered = connection.execute(select(table).order_by(column)).mappings()
    for number, rows in groupby(ordered, key=lambda row: row[column.name]):
        found = expected.pop(number, None)
        if found is None:
            yield f"{table.name}: rows of entry {number} that the audit log does not know"
        elif found != digest(table, map(dict, rows)):
            yield f"{table.name}: rows of entry {number} are not what was written"
    nothing = digest(table, [])  # an auction without a bid wrote this
    for number in (number for number, said in expected.items() if said != nothing):
        yield f"{table.name}: the rows of entry {number} are missing"
