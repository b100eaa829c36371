"""The money of a task from publication to settlement, as transfers: pure arithmetic in minor units."""

from __future__ import annotations

from collections.abc import Mapping

from coterie.market.ledger import OUTSIDE, LedgerError, Transfer
from coterie.market.task import Task, is_whole

BASIS_POINTS = 10_000
"""A commission is counted in hundredths of a percent of what winners are paid."""

NETWORK = "network"
"""The account of the network owner."""


def party(name: str) -> str:
    """The account of a task owner or client."""
    return f"party:{name}"


def escrow(task: str) -> str:
    """The account that holds a task's money while it is under way."""
    return f"escrow:{task}"


def deposit(key: str, name: str, amount: int) -> Transfer:
    """Money that a party pays in."""
    return Transfer(key, {OUTSIDE: -_positive(key, amount), party(name): amount}, f"{name} pays in")


def withdrawal(key: str, name: str, amount: int) -> Transfer:
    """Money that a party takes out."""
    return Transfer(key, {party(name): -_positive(key, amount), OUTSIDE: amount}, f"{name} takes out")


def commission_on(paid: int, basis_points: int) -> int:
    """What the network owner takes on top of what winners are paid, rounded down.

    >>> commission_on(999, 250)
    24
    """
    if not 0 <= basis_points <= BASIS_POINTS:
        raise LedgerError(f"commission: {basis_points} basis points are not from 0 to {BASIS_POINTS}")
    return paid * basis_points // BASIS_POINTS


def worst_case(task: Task, bidders: int, basis_points: int = 0) -> int:
    """The most that a task can cost with so many bidders: what escrow must hold so that no settlement overdraws it.

    Each winner brings at least one sample that is still needed, so there are no more winners than bidders or
    required samples, and none is paid above the reserve price.

    >>> worst_case(Task(quotas=[2, 1], reserve_price=40), bidders=500, basis_points=1000)
    132
    """
    if not task.whole:
        raise LedgerError("task: escrow holds whole minor units, so the reserve price and the budget must be whole numbers")
    paid = int(task.reserve_price) * min(bidders, int(task.quotas.sum()))
    return paid + commission_on(paid, basis_points)


def open_escrow(task: str, owner: str, amount: int) -> Transfer:
    """Puts the owner's money aside when a task opens for bids."""
    key = f"escrow/{task}"
    return Transfer(key, {party(owner): -_positive(key, amount), escrow(task): amount}, f"escrow for task {task}")


def settle(task: str, owner: str, held: int, payments: Mapping[str, int], basis_points: int = 0) -> Transfer:
    """Pays winners and the network owner from escrow and returns the rest, in one transfer.

    >>> settle("t", "ann", 100, {"bob": 40, "eve": 30}, basis_points=1000).entries["party:ann"]
    23
    """
    key = f"settlement/{task}"
    payments = {name: _positive(key, amount, f"payment to {name}", zero=True) for name, amount in payments.items()}
    paid = sum(payments.values())
    fee = commission_on(paid, basis_points)
    if paid + fee > held:
        raise LedgerError(f"transfer {key}: payments of {paid} and a commission of {fee} exceed the escrow of {held}")
    entries = {escrow(task): -held, NETWORK: fee}
    for name, amount in [*payments.items(), (owner, held - paid - fee)]:
        entries[party(name)] = entries.get(party(name), 0) + amount
    return Transfer(key, {account: amount for account, amount in entries.items() if amount}, f"settlement of task {task}")


def cancel(task: str, owner: str, held: int) -> Transfer:
    """Returns all of a task's escrow; it has the settlement's key, so that only one of the two can happen."""
    key = f"settlement/{task}"
    return Transfer(key, {escrow(task): -_positive(key, held), party(owner): held}, f"cancellation of task {task}")


def _positive(key: str, amount: int, what: str = "amount", zero: bool = False) -> int:
    if not is_whole(amount) or amount < 0 or (amount == 0 and not zero):
        raise LedgerError(f"transfer {key}: {what} must be whole minor units {'from' if zero else 'above'} 0, not {amount!r}")
    return int(amount)
