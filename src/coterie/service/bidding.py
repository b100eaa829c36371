"""Bids: sealed until bidding is over, even from the network owner."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, func, select

from coterie.service import lifecycle, rights
from coterie.service.books import LARGEST
from coterie.service.keys import Party
from coterie.service.parties import profiles_of
from coterie.service.refusals import Conflict, Unfit
from coterie.service.store import Write
from coterie.service.tables import bids


def bid(write: Write, who: Party, task: int, price: int) -> int:
    """Asks a price for taking part; an earlier bid is replaced. Returns the bid's number."""
    rights.require(who, "bid", who.id)
    published = lifecycle.seen(write.connection, who, task)
    _check_open(write, published)
    terms = published.terms
    if not 0 <= price <= LARGEST:
        raise Unfit(f"price: must be whole minor units from 0 to {LARGEST}, not {price}")
    if price > terms.reserve_price:
        raise Conflict(f"nobody is paid more than {terms.reserve_price} for this task, so a bid of {price} cannot win")
    profile = profiles_of(write.connection, terms.ground, [who.id]).get(who.id)
    if profile is None:
        raise Conflict(f"nothing is known of your data in '{terms.ground}'; the network owner describes it")
    if len(json.loads(profile.counts)) != len(terms.quotas):
        raise Conflict(
            f"your data in '{terms.ground}' has {len(json.loads(profile.counts))} classes, the task {len(terms.quotas)}"
        )
    last = own(write.connection, task, who.id)
    if last is not None and last.price == price:
        return int(last.id)
    place = _place(write, published) if last is None else last.place
    return write.add(bids, {"task": task, "party": who.id, "price": price, "place": place}, f"a bid for task {task}")


def withdraw(write: Write, who: Party, task: int) -> None:
    """Takes a bid back while bidding goes on."""
    rights.require(who, "bid", who.id)
    _check_open(write, lifecycle.seen(write.connection, who, task))
    last = own(write.connection, task, who.id)
    if last is None or last.price is None:
        raise Conflict("there is no bid to withdraw")
    write.add(bids, {"task": task, "party": who.id, "price": None, "place": last.place}, f"a bid for task {task} is withdrawn")


def own(connection: Connection, task: int, party: int) -> Any:
    """A party's last bid for a task, or None."""
    asked = select(bids).where(bids.c.task == task, bids.c.party == party).order_by(bids.c.id.desc()).limit(1)
    return connection.execute(asked).one_or_none()


def seen_own(connection: Connection, who: Party, task: int) -> Any:
    """A client's own bid, or None."""
    rights.require(who, "see a bid", who.id)
    lifecycle.seen(connection, who, task)
    return own(connection, task, who.id)


def in_force(connection: Connection, task: int) -> list[Any]:
    """Everybody's bid, in the order of parties."""
    newest = select(func.max(bids.c.id)).where(bids.c.task == task).group_by(bids.c.party)
    rows = connection.execute(select(bids).where(bids.c.id.in_(newest), bids.c.price.is_not(None)).order_by(bids.c.party))
    return list(rows)


def count(connection: Connection, task: int) -> int:
    """How many bids are in force."""
    newest = select(func.max(bids.c.id)).where(bids.c.task == task).group_by(bids.c.party)
    asked = select(func.count()).select_from(bids).where(bids.c.id.in_(newest), bids.c.price.is_not(None))
    return int(connection.execute(asked).scalar_one())


def revealed(connection: Connection, who: Party, task: int) -> list[Any]:
    """All bids, for those who may see them, once bidding is over."""
    published = lifecycle.seen(connection, who, task)
    rights.require(who, "see all bids")
    if published.status in ("draft", "open"):
        raise Conflict("bids are sealed until bidding is over")
    return in_force(connection, task)


def _check_open(write: Write, task: lifecycle.Published) -> None:
    if task.status != "open":
        raise Conflict(f"the task is {task.status}, not open for bids")
    if task.terms.closes_at is not None and write.at >= task.terms.closes_at:
        raise Conflict("the time at which bidding ends is over")


def _place(write: Write, task: lifecycle.Published) -> int:
    asked = select(func.max(bids.c.place)).where(bids.c.task == task.id)
    taken = write.connection.execute(asked).scalar_one() or 0
    if taken >= task.terms.places:
        raise Conflict(f"all {task.terms.places} places of this task are taken")
    return int(taken) + 1
