"""Auctions over the database: the bids go to `coterie.market`, and every bidder's part in it is written down."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from coterie.market import Award, Bids, clear
from coterie.market.explain import Explanation, explain
from coterie.market.settlement import commission_on
from coterie.service import bidding, books, lifecycle, rights, standing
from coterie.service.keys import Party
from coterie.service.parties import profiles_of
from coterie.service.refusals import Conflict, NotThere
from coterie.service.store import Write
from coterie.service.tables import decisions, profiles, tasks
from coterie.service.terms import Terms


def auction(write: Write, who: Party, number: int) -> Mapping[str, Any]:
    """Runs a task's auction and says what came of it.

    The task fails, and its escrow goes back, where nobody wins, where quotas stay unmet and the owner does not take part
    of what was asked, and where the payments exceed the owner's cap.
    """
    rights.require(who, "run an auction")
    task = lifecycle.seen(write.connection, who, number)
    rows = bidding.in_force(write.connection, number)
    described = profiles_of(write.connection, task.terms.ground)
    known = standing.reputations(write.connection, write.at)
    parts = [described[row.party] for row in rows]
    award, why = decided(
        task.terms,
        [row.price for row in rows],
        [known.get(row.party, 0.0) for row in rows],
        [json.loads(part.counts) for part in parts],
    )
    after = lifecycle.move(write, task, "auctioned", f"{len(award.winners)} of {len(rows)} bidders win")
    made = _rows(award, why)
    for row, bid, part in zip(made, rows, parts, strict=True):
        row |= {"task": number, "party": bid.party, "bid": bid.id, "price": bid.price, "profile": part.id}
    write.add(decisions, made, f"the auction of task {number}")
    trouble = _trouble(task.terms, award, task.commission, books.balance(write.connection, task.escrow))
    if trouble:
        lifecycle.end(write, after, "failed", trouble)
    return {**award.summary(), "unmet": {str(d): short for d, short in award.unmet.items()}, "failed": trouble}


def decided(
    terms: Terms, prices: Sequence[int], reputations: Sequence[float], counts: Sequence[Sequence[int]]
) -> tuple[Award, Explanation]:
    """What the rules make of bids: pure, so that anybody can work it out again."""
    held = np.array(counts, np.int64).reshape(len(prices), len(terms.quotas))
    bids = Bids(prices=np.array(prices, np.int64), reputations=np.array(reputations, np.float64), counts=held)
    award = clear(terms.task, bids, mechanism=terms.mechanism, scale="market")
    return award, explain(terms.task, bids, mechanism=terms.mechanism, scale="market")


def explanation(connection: Connection, who: Party, task: int, party: int) -> dict[str, Any]:
    """One bidder's part in an auction, for itself or the network owner."""
    lifecycle.seen(connection, who, task)
    rights.require(who, "see an explanation", party)
    row = connection.execute(select(decisions).where(decisions.c.task == task, decisions.c.party == party)).one_or_none()
    if row is None:
        raise NotThere(f"party {party} had no part in an auction of task {task}")
    return dict(row._mapping)


def cohort(connection: Connection, task: int) -> list[dict[str, Any]]:
    """The winners, best first."""
    asked = select(decisions).where(decisions.c.task == task, decisions.c.won).order_by(decisions.c.rank)
    return [dict(row) for row in connection.execute(asked).mappings()]


def statistics(connection: Connection, who: Party, number: int) -> dict[str, Any]:
    """What a task owner learns of its cohort: sums and means, and no single client's data."""
    task = lifecycle.seen(connection, who, number)
    rights.require(who, "see a cohort", task.owner)
    if task.status in ("draft", "open", "closed"):
        raise Conflict(f"the task is {task.status}: there is no cohort yet")
    rows = connection.execute(
        select(decisions, profiles.c.counts)
        .join(profiles, profiles.c.id == decisions.c.profile)
        .where(decisions.c.task == number)
    ).all()
    won = [row for row in rows if row.won]
    held = np.array([json.loads(row.counts) for row in won], np.int64).reshape(len(won), len(task.terms.quotas)).sum(axis=0)
    paid = sum(row.payment for row in won)
    quotas = np.array(task.terms.quotas)
    return {
        "task": number,
        "bidders": len(rows),
        "winners": len(won),
        "asked": sum(row.price for row in won),
        "paid": paid,
        "commission": commission_on(paid, task.commission),
        "mean_reputation": float(np.mean([row.reputation for row in won])) if won else None,
        "held": held.tolist(),
        "unmet": {str(d): int(short) for d, short in enumerate(np.maximum(quotas - held, 0)) if short},
    }


def problems(connection: Connection) -> list[str]:
    """Runs every auction again, from the bids, the data and the reputations of its time, and says where it differs."""
    said = []
    for row in connection.execute(select(tasks).order_by(tasks.c.id)):
        written = connection.execute(
            select(decisions, profiles.c.counts)
            .join(profiles, profiles.c.id == decisions.c.profile)
            .where(decisions.c.task == row.id)
            .order_by(decisions.c.party)
        ).all()
        if not written:
            continue
        terms = Terms.of(row)
        bids = [(bid.party, bid.id, bid.price) for bid in bidding.in_force(connection, row.id)]
        if bids != [(one.party, one.bid, one.price) for one in written]:
            said.append(f"auction of task {row.id}: it was not run on the bids that stand")
        known = standing.reputations(connection, written[0].at, before=written[0].entry)
        said += [
            f"auction of task {row.id}: party {one.party} had another reputation"
            for one in written
            if known.get(one.party, 0.0) != one.reputation
        ]
        award, why = decided(
            terms,
            [one.price for one in written],
            [one.reputation for one in written],
            [json.loads(one.counts) for one in written],
        )
        for one, again in zip(written, _rows(award, why), strict=True):
            if any(getattr(one, name) != value for name, value in again.items()):
                said.append(f"auction of task {row.id}: party {one.party}'s part comes out otherwise when it is run again")
    return said


def _rows(award: Award, why: Explanation) -> list[dict[str, Any]]:
    """What is written down of each bidder, by the order of bids."""
    payments = dict(zip(award.winners.tolist(), award.payments.tolist(), strict=True))
    return [
        {
            "reputation": one.reputation,
            "value": one.value,
            "score": one.score if isfinite(one.score) else None,
            "rank": one.rank,
            "verdict": one.verdict,
            "critical": one.critical,
            "won": i in payments,
            "payment": payments.get(i, 0),
        }
        for i, one in enumerate(why[i] for i in range(len(why)))
    ]


def _trouble(terms: Terms, award: Award, commission: int, held: int) -> str | None:
    """Why a task cannot go on after its auction."""
    if not len(award.winners):
        return "nobody won"
    if award.unmet and not terms.partial:
        missing = ", ".join(f"{short} of class {d}" for d, short in award.unmet.items())
        return f"quotas stay unmet: {missing} are missing"
    cost = int(award.paid) + commission_on(int(award.paid), commission)
    if cost > held:
        return f"payments of {award.paid} with the commission come to {cost}, above the cap of {held}"
    return None
