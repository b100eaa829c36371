"""Money in the database: transfers as double entries, each made once, each account's balance beside its last entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, func, select, tuple_

from coterie.market.ledger import OUTSIDE, LedgerError, Transfer, apply
from coterie.market.settlement import NETWORK, deposit, escrow, party, withdrawal
from coterie.service import rights
from coterie.service.keys import Party
from coterie.service.refusals import Conflict, NotThere, Unfit
from coterie.service.store import Write
from coterie.service.tables import entries, parties, transfers

LARGEST = 10**12
"""The most that is moved at once: a trillion minor units, far from where numbers end."""
CHUNK = 500


def post(write: Write, transfer: Transfer) -> int:
    """Makes a transfer, once for each key, and returns its number; no account but the outside may end below 0."""
    known = made(write.connection, transfer.key)
    if known is not None:
        if known[1] != transfer:
            raise Conflict(f"the key '{transfer.key}' stands for another transfer ({known[1].reason})")
        return known[0]
    last = lasts(write.connection, list(transfer.entries))
    try:
        after = apply({account: balance for account, (_, balance) in last.items()}, transfer)
    except LedgerError as error:
        raise Conflict(str(error)) from None
    number = write.add(transfers, {"key": transfer.key, "reason": transfer.reason}, f"transfer: {transfer.reason}")
    rows = [
        {
            "transfer": number,
            "account": account,
            "number": last.get(account, (0, 0))[0] + 1,
            "amount": amount,
            "balance": after[account],
        }
        for account, amount in transfer.entries.items()
    ]
    write.add(entries, rows, f"entries of transfer {number}")
    return number


def made(connection: Connection, key: str) -> tuple[int, Transfer] | None:
    """The transfer that was made under a key, with its number."""
    head = connection.execute(select(transfers).where(transfers.c.key == key)).one_or_none()
    if head is None:
        return None
    rows = connection.execute(select(entries.c.account, entries.c.amount).where(entries.c.transfer == head.id))
    return head.id, Transfer(key, {row.account: row.amount for row in rows}, head.reason)


def lasts(connection: Connection, accounts: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Of each account that ever moved, the number of its last entry and its balance."""
    found: dict[str, tuple[int, int]] = {}
    for start in range(0, len(accounts), CHUNK):
        some = accounts[start : start + CHUNK]
        newest = (
            select(entries.c.account, func.max(entries.c.number)).where(entries.c.account.in_(some)).group_by(entries.c.account)
        )
        rows = connection.execute(
            select(entries.c.account, entries.c.number, entries.c.balance).where(
                tuple_(entries.c.account, entries.c.number).in_(newest)
            )
        )
        found |= {row.account: (row.number, row.balance) for row in rows}
    return found


def balance(connection: Connection, account: str) -> int:
    """What an account holds."""
    return lasts(connection, [account]).get(account, (0, 0))[1]


def balances(connection: Connection) -> dict[str, int]:
    """What every account holds, by their last entries."""
    newest = select(entries.c.account, func.max(entries.c.number)).group_by(entries.c.account)
    rows = connection.execute(
        select(entries.c.account, entries.c.balance).where(tuple_(entries.c.account, entries.c.number).in_(newest))
    )
    return {row.account: row.balance for row in rows}


def statement(connection: Connection, account: str, limit: int = 100) -> list[Mapping[str, Any]]:
    """An account's last entries, the newest first."""
    rows = connection.execute(
        select(entries.c.number, entries.c.at, entries.c.amount, entries.c.balance, transfers.c.reason, transfers.c.id)
        .join(transfers, transfers.c.id == entries.c.transfer)
        .where(entries.c.account == account)
        .order_by(entries.c.number.desc())
        .limit(limit)
    )
    return [dict(row) for row in rows.mappings()]


def pay_in(write: Write, who: Party, whom: int, amount: int, key: str) -> int:
    """Books money that came in from outside for a party; the network owner has seen it arrive."""
    rights.require(who, "pay money in", whom)
    row = _party(write.connection, whom)
    if row.role == "network":
        raise Conflict("money is paid in for task owners and clients")
    return post(write, deposit(f"in/{whom}/{key}", str(whom), _amount(amount)))


def take_out(write: Write, who: Party, whom: int, amount: int, key: str) -> int:
    """Books money that leaves for a party."""
    rights.require(who, "take money out", whom)
    row = _party(write.connection, whom)
    if row.role == "network":
        moved = {NETWORK: -_amount(amount), OUTSIDE: amount}
        return post(write, Transfer(f"out/{whom}/{key}", moved, "the network owner takes out"))
    return post(write, withdrawal(f"out/{whom}/{key}", str(whom), _amount(amount)))


def problems(connection: Connection) -> Iterable[str]:
    """Says what does not hold of the money, by going through every entry ever made."""
    rows = connection.execute(select(entries).order_by(entries.c.transfer, entries.c.account)).mappings()
    standing: dict[str, tuple[int, int]] = {}
    for transfer, group in groupby(rows, key=lambda row: row["transfer"]):
        moved = list(group)
        if sum(row["amount"] for row in moved):
            yield f"ledger: the entries of transfer {transfer} do not sum to 0"
        for row in moved:
            account, (number, before) = row["account"], standing.get(row["account"], (0, 0))
            if row["number"] != number + 1 or row["balance"] != before + row["amount"]:
                yield f"ledger: entry {row['number']} of '{account}' does not follow from the one before it"
            if row["balance"] < 0 and row["amount"] < 0 and account != OUTSIDE:
                yield f"ledger: '{account}' is below 0 after its entry {row['number']}"
            standing[account] = (row["number"], row["balance"])
    if sum(held for _, held in standing.values()):
        yield f"ledger: all accounts together hold {sum(held for _, held in standing.values())}, not 0"


def _amount(amount: int) -> int:
    if not 0 < amount <= LARGEST:
        raise Unfit(f"amount: must be whole minor units from 1 to {LARGEST}, not {amount}")
    return amount


def _party(connection: Connection, whom: int) -> Any:
    row = connection.execute(select(parties).where(parties.c.id == whom)).one_or_none()
    if row is None:
        raise NotThere(f"there is no party {whom}")
    return row


__all__ = ["balance", "balances", "escrow", "lasts", "made", "party", "pay_in", "post", "problems", "statement", "take_out"]
