"""The life of a task: draft, open, closed, auctioned, training, settled; or cancelled, or failed, at any step before.

Each function is one write: it checks who asks and how things stand, and then does all of it or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, and_, func, select

from coterie.market import settlement
from coterie.market.ledger import LedgerError
from coterie.service import books, rights, standing
from coterie.service.keys import Party
from coterie.service.parties import ground_settings, rules_of
from coterie.service.refusals import Conflict, NotThere
from coterie.service.store import Write
from coterie.service.tables import decisions, moves, rounds, tasks
from coterie.service.terms import Terms

Status = Literal["draft", "open", "closed", "auctioned", "training", "settled", "cancelled", "failed"]

NEXT: Mapping[Status, tuple[Status, ...]] = {
    "draft": ("open", "cancelled"),
    "open": ("closed", "cancelled", "failed"),
    "closed": ("auctioned", "cancelled", "failed"),
    "auctioned": ("training", "cancelled", "failed"),
    "training": ("settled", "cancelled", "failed"),
    "settled": (),
    "cancelled": (),
    "failed": (),
}
BY_OWNER = ("draft", "open", "closed")
"""Until there are winners the owner may cancel; afterwards only the network owner may."""
SERVICE = Party(0, "the service", "network")
"""Who acts where nobody asked: closing at the time that was set, training, settling."""


@dataclass(frozen=True)
class Published:
    """A task and where it stands."""

    id: int
    at: float
    owner: int
    commission: int
    terms: Terms
    status: Status
    moves: int
    """How many steps it has made."""

    @property
    def escrow(self) -> str:
        """The account that holds its money."""
        return settlement.escrow(str(self.id))


def get(connection: Connection, number: int) -> Published:
    """A task by its number."""
    last = select(func.max(moves.c.number)).where(moves.c.task == number).scalar_subquery()
    row = connection.execute(
        select(tasks, moves.c.status, moves.c.number.label("moves"))
        .join(moves, and_(moves.c.task == tasks.c.id, moves.c.number == last))
        .where(tasks.c.id == number)
    ).one_or_none()
    if row is None:
        raise NotThere(f"there is no task {number}")
    return _published(row)


def listed(connection: Connection, status: Status | None = None) -> list[Published]:
    """All tasks, the newest first."""
    last = select(moves.c.task, func.max(moves.c.number).label("number")).group_by(moves.c.task).subquery()
    asked = (
        select(tasks, moves.c.status, moves.c.number.label("moves"))
        .join(last, last.c.task == tasks.c.id)
        .join(moves, and_(moves.c.task == tasks.c.id, moves.c.number == last.c.number))
        .order_by(tasks.c.id.desc())
    )
    if status is not None:
        asked = asked.where(moves.c.status == status)
    return [_published(row) for row in connection.execute(asked)]


def seen(connection: Connection, who: Party, number: int) -> Published:
    """A task that a party may know of: what was published is there for all, a draft for its owner and the network owner."""
    task = get(connection, number)
    if (task.status == "draft" or _never_open(connection, task)) and not rights.may(who, "see a draft", task.owner):
        raise NotThere(f"there is no task {number}")
    return task


def visible(connection: Connection, who: Party, status: Status | None = None) -> list[Published]:
    """All tasks that a party may know of, the newest first."""
    opened = set(connection.execute(select(moves.c.task).where(moves.c.status == "open")).scalars())
    everything = listed(connection, status)
    return [task for task in everything if task.id in opened or rights.may(who, "see a draft", task.owner)]


def path(connection: Connection, number: int) -> list[dict[str, Any]]:
    """The steps that a task has made."""
    rows = connection.execute(select(moves).where(moves.c.task == number).order_by(moves.c.number)).mappings()
    return [dict(row) for row in rows]


def publish(write: Write, who: Party, terms: Terms) -> int:
    """Writes a task down as a draft: nobody else sees it, and nothing is paid yet."""
    rights.require(who, "publish a task")
    settings = ground_settings(write.connection, terms.ground)
    if settings is None:
        raise Conflict(f"there is no ground '{terms.ground}' to train in")
    if settings.get("classes", len(terms.quotas)) != len(terms.quotas):
        raise Conflict(f"'{terms.ground}' has {settings['classes']} classes, so quotas must be {settings['classes']} numbers")
    row = {**terms.row, "owner": who.id, "commission": rules_of(write.connection).commission}
    number = write.add(tasks, row, f"task '{terms.title}' is drafted")
    _add_move(write, number, 1, "draft", "drafted")
    return number


def open_for_bids(write: Write, who: Party, number: int) -> None:
    """Puts the task's money in escrow and lets clients bid."""
    task = _of(write, who, number, "open a task")
    _check_move(task, "open")
    if task.terms.closes_at is not None and task.terms.closes_at <= write.at:
        raise Conflict("the time at which bidding ends is over")
    amount = task.terms.escrow(task.commission)
    if amount > books.LARGEST:
        raise Conflict(f"the worst case would cost {amount}; set a cap")
    books.post(write, settlement.open_escrow(str(number), str(task.owner), amount))
    _move(write, task, "open", "its money is in escrow")


def close(write: Write, who: Party, number: int, reason: str = "bidding is over") -> None:
    """Ends bidding."""
    task = _of(write, who, number, "close a task")
    _check_move(task, "closed")
    _move(write, task, "closed", reason)


def cancel(write: Write, who: Party, number: int, reason: str) -> None:
    """Calls a task off; its escrow goes back to the owner and nobody is paid."""
    task = _of(write, who, number, "cancel a task")
    if rights.RIGHTS["cancel a task"][who.role] == "own" and task.status in ("auctioned", "training"):
        raise Conflict(f"the task is {task.status}: it has winners, and only the network owner can cancel it")
    end(write, task, "cancelled", reason)


def fail(write: Write, who: Party, number: int, reason: str) -> None:
    """Ends a task that cannot go on; its escrow goes back to the owner."""
    end(write, _of(write, who, number, "fail a task"), "failed", reason)


def end(write: Write, task: Published, status: Literal["cancelled", "failed"], reason: str) -> None:
    """Ends a task without settlement."""
    _check_move(task, status)
    held = books.balance(write.connection, task.escrow)
    if held:
        books.post(write, settlement.cancel(str(task.id), str(task.owner), held))
    _move(write, task, status, reason)


def begin_training(write: Write, who: Party, number: int) -> None:
    """Sends the cohort to train."""
    task = _of(write, who, number, "start training")
    _check_move(task, "training")
    _move(write, task, "training", f"{task.terms.rounds} rounds")


def round_over(write: Write, number: int, row: Mapping[str, Any], judged: Mapping[int, tuple[str, str]]) -> bool:
    """Writes down a round of training and how each of the cohort behaved: its kind and reason. False if it was there."""
    task = get(write.connection, number)
    if task.status != "training":
        raise Conflict(f"the task is {task.status}, not training")
    known = select(rounds.c.id).where(rounds.c.task == number, rounds.c.round == row["round"])
    if write.connection.execute(known).first() is not None:
        return False
    write.add(rounds, {**row, "task": number}, f"round {row['round']} of task {number}")
    told = [
        {"party": party, "kind": kind, "reason": reason[:400], "task": number, "round": row["round"]}
        for party, (kind, reason) in sorted(judged.items())
    ]
    if told:
        standing.add(write, told, f"conduct in round {row['round']} of task {number}")
    return True


def settle(write: Write, who: Party, number: int) -> int:
    """Pays the winners and the network owner and returns the rest, in one transfer. Returns what winners are paid.

    A winner of whom not one honest update arrived is not paid: payment is for training.
    """
    task = _of(write, who, number, "settle a task")
    _check_move(task, "settled")
    done = write.connection.execute(select(func.count()).select_from(rounds).where(rounds.c.task == number)).scalar_one()
    if done < task.terms.rounds:
        raise Conflict(f"{done} of {task.terms.rounds} rounds are trained")
    won = write.connection.execute(
        select(decisions.c.party, decisions.c.payment).where(decisions.c.task == number, decisions.c.won)
    )
    came = {
        party
        for party, rows in standing.history(write.connection, task=number).items()
        if any(row.kind == "honest" for row in rows)
    }
    payments = {str(row.party): row.payment for row in won if row.party in came}
    held = books.balance(write.connection, task.escrow)
    try:
        transfer = settlement.settle(str(number), str(task.owner), held, payments, task.commission)
    except LedgerError as error:
        raise Conflict(str(error)) from None
    books.post(write, transfer)
    paid: int = sum(payments.values())
    _move(write, task, "settled", f"{len(payments)} clients are paid")
    return paid


def _of(write: Write, who: Party, number: int, what: str) -> Published:
    task = seen(write.connection, who, number)
    rights.require(who, what, task.owner)
    return task


def _check_move(task: Published, status: Status) -> None:
    if status not in NEXT[task.status]:
        raise Conflict(f"the task is {task.status} and cannot become {status}")


def move(write: Write, task: Published, status: Status, reason: str) -> Published:
    """Takes a task a step on."""
    _check_move(task, status)
    _move(write, task, status, reason)
    return get(write.connection, task.id)


def _move(write: Write, task: Published, status: Status, reason: str) -> None:
    _add_move(write, task.id, task.moves + 1, status, reason)


def _add_move(write: Write, task: int, number: int, status: Status, reason: str) -> None:
    row = {"task": task, "number": number, "status": status, "reason": reason[:400]}
    write.add(moves, row, f"task {task} is {status}: {reason}")


def _never_open(connection: Connection, task: Published) -> bool:
    if task.status != "cancelled":
        return False
    return connection.execute(select(moves.c.id).where(moves.c.task == task.id, moves.c.status == "open")).first() is None


def _published(row: Any) -> Published:
    return Published(row.id, row.at, row.owner, row.commission, Terms.of(row), row.status, row.moves)
