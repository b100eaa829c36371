"""Tasks: their life, bids, auctions and training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query
from sqlalchemy import select

from coterie.service import auctioning, bidding, lifecycle
from coterie.service.desk import AtDesk, Desk
from coterie.service.lifecycle import Published, Status
from coterie.service.refusals import NotThere
from coterie.service.shapes import (
    Because,
    BidIn,
    BidOut,
    CohortOut,
    Explanation,
    Made,
    Number,
    Outcome,
    RoundOut,
    TaskIn,
    TaskOut,
    TaskWhole,
)
from coterie.service.tables import rounds
from coterie.service.terms import Terms

router = APIRouter(tags=["tasks"])


@router.get("/tasks", response_model=list[TaskOut])
def tasks(desk: AtDesk, status: Status | None = None, limit: Annotated[int, Query(ge=1, le=500)] = 100) -> Any:
    """Lists tasks, the newest first: all that were published, and one's own drafts."""
    with desk.store.read() as connection:
        return [_shown(task) for task in lifecycle.visible(connection, desk.who, status)[:limit]]


@router.post("/tasks", response_model=Made, status_code=201)
def publish(desk: AtDesk, task: TaskIn) -> Any:
    """Writes a task down as a draft."""
    return {"id": desk.write(lifecycle.publish, Terms(**task.model_dump()))}


@router.get("/tasks/{task}", response_model=TaskWhole)
def one_task(desk: AtDesk, task: Number) -> Any:
    """Shows a task, the steps that it has made, and how many bid."""
    return _whole(desk, task)


def _step(action: Callable[..., Any]) -> Callable[[Desk, int], dict[str, Any]]:
    def taken(desk: Desk, task: int) -> dict[str, Any]:
        desk.write(action, task)
        desk.steward.wake()
        return _whole(desk, task)

    return taken


@router.post("/tasks/{task}/open", response_model=TaskWhole)
def open_for_bids(desk: AtDesk, task: Number) -> Any:
    """Puts the task's money in escrow and lets clients bid."""
    return _step(lifecycle.open_for_bids)(desk, task)


@router.post("/tasks/{task}/close", response_model=TaskWhole)
def close(desk: AtDesk, task: Number) -> Any:
    """Ends bidding."""
    return _step(lifecycle.close)(desk, task)


@router.post("/tasks/{task}/train", response_model=TaskWhole)
def train(desk: AtDesk, task: Number) -> Any:
    """Sends the cohort to train; the task is settled when it is done."""
    return _step(lifecycle.begin_training)(desk, task)


@router.post("/tasks/{task}/settle", response_model=TaskWhole)
def settle(desk: AtDesk, task: Number) -> Any:
    """Pays the winners of a task whose training is done, if that has not been done by itself."""
    return _step(lifecycle.settle)(desk, task)


@router.post("/tasks/{task}/auction", response_model=Outcome)
def auction(desk: AtDesk, task: Number) -> Any:
    """Runs the auction."""
    outcome = desk.write(auctioning.auction, task)
    desk.steward.wake()
    return outcome


@router.post("/tasks/{task}/cancel", response_model=TaskWhole)
def cancel(desk: AtDesk, task: Number, why: Because) -> Any:
    """Calls a task off; its escrow goes back to the owner."""
    desk.write(lifecycle.cancel, task, why.reason)
    return _whole(desk, task)


@router.post("/tasks/{task}/fail", response_model=TaskWhole)
def fail(desk: AtDesk, task: Number, why: Because) -> Any:
    """Ends a task that cannot go on; its escrow goes back to the owner."""
    desk.write(lifecycle.fail, task, why.reason)
    return _whole(desk, task)


@router.put("/tasks/{task}/bid", response_model=Made)
def bid(desk: AtDesk, task: Number, bid: BidIn) -> Any:
    """Bids, or replaces one's bid. The answer comes when the bid is on disk."""
    return {"id": desk.write(bidding.bid, task, bid.price)}


@router.delete("/tasks/{task}/bid", status_code=204)
def withdraw(desk: AtDesk, task: Number) -> None:
    """Withdraws one's bid."""
    desk.write(bidding.withdraw, task)


@router.get("/tasks/{task}/bid", response_model=BidOut)
def own_bid(desk: AtDesk, task: Number) -> Any:
    """Shows one's own bid."""
    with desk.store.read() as connection:
        row = bidding.seen_own(connection, desk.who, task)
    if row is None:
        raise NotThere(f"you have no bid for task {task}")
    return dict(row._mapping)


@router.get("/tasks/{task}/bids", response_model=list[BidOut])
def bids(desk: AtDesk, task: Number) -> Any:
    """Lists all bids, once bidding is over."""
    with desk.store.read() as connection:
        return [dict(row._mapping) for row in bidding.revealed(connection, desk.who, task)]


@router.get("/tasks/{task}/cohort", response_model=CohortOut)
def cohort(desk: AtDesk, task: Number) -> Any:
    """Shows sums and means over the winners."""
    with desk.store.read() as connection:
        return auctioning.statistics(connection, desk.who, task)


@router.get("/tasks/{task}/explanations/{party}", response_model=Explanation)
def explanation(desk: AtDesk, task: Number, party: Number) -> Any:
    """Explains a bidder's part in the auction, to itself and to the network owner."""
    with desk.store.read() as connection:
        return auctioning.explanation(connection, desk.who, task, party)


@router.get("/tasks/{task}/rounds", response_model=list[RoundOut])
def training(desk: AtDesk, task: Number) -> Any:
    """Shows the rounds that were trained."""
    with desk.store.read() as connection:
        lifecycle.seen(connection, desk.who, task)
        asked = select(rounds).where(rounds.c.task == task).order_by(rounds.c.round)
        return [dict(row) for row in connection.execute(asked).mappings()]


def _whole(desk: Desk, number: int) -> dict[str, Any]:
    with desk.store.read() as connection:
        task = lifecycle.seen(connection, desk.who, number)
        bidders = bidding.count(connection, number)
        return {**_shown(task), "steps": lifecycle.path(connection, number), "bidders": bidders}


def _shown(task: Published) -> dict[str, Any]:
    own = {name: getattr(task, name) for name in ("id", "at", "owner", "status", "commission")}
    return {**asdict(task.terms), **own}
