"""Appeals, the audit log, and whether everything holds."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from sqlalchemy import select

from coterie.service import appeals, rights
from coterie.service import verify as verification
from coterie.service.desk import AtDesk
from coterie.service.shapes import AppealIn, AppealOut, LogEntry, Made, Number, RulingIn, Verdict
from coterie.service.tables import audit_log

router = APIRouter(tags=["oversight"])


@router.get("/appeals", response_model=list[AppealOut])
def all_appeals(desk: AtDesk) -> Any:
    """Lists appeals, the newest first: a client's own, or all for the network owner."""
    with desk.store.read() as connection:
        return appeals.listed(connection, desk.who)


@router.post("/appeals", response_model=Made, status_code=201)
def appeal(desk: AtDesk, contested: AppealIn) -> Any:
    """Contests a penalty or a valuation."""
    contest = appeals.contest_penalty if contested.about == "penalty" else appeals.contest_valuation
    return {"id": desk.write(contest, contested.number, contested.words)}


@router.post("/appeals/{appeal}/ruling", response_model=Made, status_code=201)
def rule(desk: AtDesk, appeal: Number, ruling: RulingIn) -> Any:
    """Decides an appeal, with a reason."""
    return {"id": desk.write(appeals.rule, appeal, ruling.granted, ruling.reason, ruling.counts)}


@router.get("/audit", response_model=list[LogEntry])
def log(
    desk: AtDesk, after: Annotated[int, Query(ge=0, le=2**53)] = 0, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Any:
    """Shows the audit log from an entry on."""
    rights.require(desk.who, "see the audit log")
    with desk.store.read() as connection:
        asked = select(audit_log).where(audit_log.c.number > after).order_by(audit_log.c.number).limit(limit)
        return [dict(row) for row in connection.execute(asked).mappings()]


@router.get("/verification", response_model=Verdict)
def verify(desk: AtDesk) -> Any:
    """Checks the log, the money and every auction; says what does not hold."""
    rights.require(desk.who, "verify")
    with desk.store.read() as connection:
        found = list(verification.problems(connection))
    return {"holds": not found, "problems": found}
