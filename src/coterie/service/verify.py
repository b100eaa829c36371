"""Whether everything in a market's database holds: the log, the rows, the money, the reputations, the auctions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sqlalchemy import Connection, select

from coterie.service import auctioning, books, lifecycle, standing
from coterie.service import audit_log as log
from coterie.service.tables import decisions, entries, moves, tasks, transfers


def problems(connection: Connection) -> Iterator[str]:
    """Says all that does not hold; nothing if all does."""
    parts = {"audit log": log.problems, "ledger": books.problems, "tasks": _tasks, "reputations": _reputations}
    for name, part in {**parts, "auctions": auctioning.problems}.items():
        try:
            yield from part(connection)
        except Exception as error:  # rows that somebody changed may be no sense at all
            yield f"{name}: cannot be checked: {type(error).__name__}: {str(error).splitlines()[0]}"


def _reputations(connection: Connection) -> Iterator[str]:
    """Whether every reputation can be worked out from its events."""
    standing.reputations(connection, log.head_of(connection).at)
    yield from ()


def _tasks(connection: Connection) -> Iterator[str]:
    """Whether every task went a way that tasks can go, and its money with it."""
    for row in connection.execute(select(tasks.c.id).order_by(tasks.c.id)):
        path = [step["status"] for step in lifecycle.path(connection, row.id)]
        legal = path[:1] == ["draft"] and all(after in lifecycle.NEXT[before] for before, after in pairwise(path))
        if not legal:
            yield f"task {row.id}: it went {' → '.join(path)}, which no task can"
            continue
        held = books.balance(connection, f"escrow:{row.id}")
        if lifecycle.NEXT[path[-1]] == () and held:
            yield f"task {row.id}: it is {path[-1]} and {held} are left in escrow"
        if path[-1] == "settled":
            yield from _settlement(connection, row.id)
    if connection.execute(select(moves.c.id).where(moves.c.task.not_in(select(tasks.c.id)))).first() is not None:
        yield "moves: some belong to no task"


def _settlement(connection: Connection, task: int) -> Iterator[str]:
    """Whether winners got what the auction said, and at least what they asked."""
    promised = connection.execute(
        select(decisions.c.party, decisions.c.price, decisions.c.payment).where(decisions.c.task == task, decisions.c.won)
    ).all()
    rows = connection.execute(
        select(entries.c.account, entries.c.amount)
        .join(transfers, transfers.c.id == entries.c.transfer)
        .where(transfers.c.key == f"settlement/{task}")
    )
    got = {row.account: row.amount for row in rows}
    came = standing.history(connection, task=task)
    for one in promised:
        if one.payment < one.price:
            yield f"task {task}: party {one.party} asked {one.price} and is paid {one.payment}"
        trained = any(row.kind == "honest" for row in came.get(one.party, []))
        due, paid = one.payment if trained else 0, got.get(f"party:{one.party}", 0)
        if due != paid:
            yield f"task {task}: party {one.party} was to be paid {due}, not {paid}"
