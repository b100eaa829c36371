"""Accounts: money in, money out, and every entry."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from coterie.service import books, parties, rights
from coterie.service.desk import AtDesk, Desk
from coterie.service.shapes import AccountOut, MoneyIn, Moved, Number

router = APIRouter(tags=["money"])


@router.get("/accounts", response_model=dict[str, int])
def accounts(desk: AtDesk) -> Any:
    """Shows what every account holds. All together they hold 0."""
    rights.require(desk.who, "see all accounts")
    with desk.store.read() as connection:
        return books.balances(connection)


@router.get("/parties/{party}/account", response_model=AccountOut)
def account(desk: AtDesk, party: Number) -> Any:
    """Shows a party's account with its last hundred entries."""
    with desk.store.read() as connection:
        whose = parties.seen(connection, desk.who, party, "see an account")
        lines = books.statement(connection, whose.account)
        return {"account": whose.account, "balance": books.balance(connection, whose.account), "entries": lines}


@router.post("/parties/{party}/deposits", response_model=Moved, status_code=201)
def pay_in(desk: AtDesk, party: Number, money: MoneyIn) -> Any:
    """Books money that arrived from outside for a party."""
    return _moved(desk, party, desk.write(books.pay_in, party, money.amount, money.key))


@router.post("/parties/{party}/withdrawals", response_model=Moved, status_code=201)
def take_out(desk: AtDesk, party: Number, money: MoneyIn) -> Any:
    """Books money that leaves for a party."""
    return _moved(desk, party, desk.write(books.take_out, party, money.amount, money.key))


def _moved(desk: Desk, party: int, transfer: int) -> dict[str, int]:
    with desk.store.read() as connection:
        return {"transfer": transfer, "balance": books.balance(connection, parties.party(connection, party).account)}
