"""Reputations: a fold over events, worked out when it is read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from coterie.market.reputation import Event, Pipp
from coterie.service.parties import rules_of
from coterie.service.store import Write
from coterie.service.tables import events

DAY = 86_400.0


def history(
    connection: Connection, party: int | None = None, before: int | None = None, task: int | None = None
) -> dict[int, list[Any]]:
    """Events by party, in order: of one party, or of all; as they were before an entry of the log; of one task."""
    asked = select(events).order_by(events.c.party, events.c.number)
    if party is not None:
        asked = asked.where(events.c.party == party)
    if before is not None:
        asked = asked.where(events.c.entry < before)
    if task is not None:
        asked = asked.where(events.c.task == task)
    found: dict[int, list[Any]] = defaultdict(list)
    for row in connection.execute(asked):
        found[row.party].append(row)
    return dict(found)


def reputation(rules: Pipp, rows: Sequence[Any], at: float) -> float:
    """What events come to at a time."""
    return rules.read([_event(row) for row in rows], at / DAY)


def reputations(connection: Connection, at: float, before: int | None = None) -> Mapping[int, float]:
    """Everybody's reputation at a time."""
    rules = rules_of(connection).pipp
    return {party: reputation(rules, rows, at) for party, rows in history(connection, before=before).items()}


def course(connection: Connection, party: int, now: float) -> list[tuple[float, float]]:
    """A reputation over time: as it is now judged, at every event and now."""
    rules, rows = rules_of(connection).pipp, history(connection, party).get(party, [])
    standing = [_event(row) for row in rows]
    overturned = {row.overturns for row in rows}
    counted = [event for event in standing if event.number not in overturned and event.kind != "overturned"]
    times = [*sorted({event.at for event in counted}), max(now / DAY, max((event.at for event in counted), default=0.0))]
    return [(at * DAY, rules.read(counted, at)) for at in times]


def add(write: Write, rows: Sequence[Mapping[str, Any]], action: str) -> int:
    """Adds events, numbered on for each party. Each needs a party, a kind and a reason."""
    who = [row["party"] for row in rows]
    last = (
        select(events.c.party, func.max(events.c.number).label("last")).where(events.c.party.in_(who)).group_by(events.c.party)
    )
    counted = {row.party: row.last for row in write.connection.execute(last)}
    blank = {"task": None, "round": None, "overturns": None}
    return write.add(events, [{**blank, **row, "number": counted.get(row["party"], 0) + 1} for row in rows], action)


def _event(row: Any) -> Event:
    return Event(row.number, row.kind, row.at / DAY, row.reason, row.overturns)
