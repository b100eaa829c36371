"""Appeals: a client contests a penalty or what its data was taken for; the network owner rules, with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sqlalchemy import Connection, select

from coterie.service import parties, rights, standing
from coterie.service.keys import Party
from coterie.service.refusals import Conflict, NotThere, Unfit
from coterie.service.store import Write
from coterie.service.tables import appeals, decisions, events, profiles, rulings

About = Literal["penalty", "valuation"]


def contest_penalty(write: Write, who: Party, event: int, words: str) -> int:
    """Contests one of the party's own events by its number."""
    rights.require(who, "appeal", who.id)
    row = write.connection.execute(select(events).where(events.c.party == who.id, events.c.number == event)).one_or_none()
    if row is None:
        raise NotThere(f"you have no event {event}")
    if row.kind != "dishonest":
        raise Conflict(f"event {event} is '{row.kind}', no penalty")
    _check_first(write, appeals.c.party == who.id, appeals.c.event == event)
    return _add(write, who, "penalty", row.task, event, words)


def contest_valuation(write: Write, who: Party, task: int, words: str) -> int:
    """Contests what the party's data was taken for in an auction."""
    rights.require(who, "appeal", who.id)
    part = select(decisions.c.party).where(decisions.c.task == task, decisions.c.party == who.id)
    if write.connection.execute(part).first() is None:
        raise NotThere(f"you had no part in an auction of task {task}")
    _check_first(write, appeals.c.party == who.id, appeals.c.task == task, appeals.c.about == "valuation")
    return _add(write, who, "valuation", task, None, words)


def rule(write: Write, who: Party, number: int, granted: bool, reason: str, counts: Sequence[int] | None = None) -> int:
    """Decides an appeal. A granted penalty is taken back; a granted valuation needs the counts that are right.

    An auction that is over stays as it was: the new counts hold from the next one on.
    """
    rights.require(who, "rule on an appeal")
    row = write.connection.execute(select(appeals).where(appeals.c.id == number)).one_or_none()
    if row is None:
        raise NotThere(f"there is no appeal {number}")
    if write.connection.execute(select(rulings.c.id).where(rulings.c.appeal == number)).first() is not None:
        raise Conflict(f"appeal {number} is decided")
    if (counts is not None) != (granted and row.about == "valuation"):
        raise Unfit("counts: they belong to a valuation that is granted, and it needs them")
    verdict = "granted" if granted else "denied"
    ruling = write.add(rulings, {"appeal": number, "granted": granted, "reason": reason}, f"appeal {number} is {verdict}")
    if granted and row.about == "penalty":
        taken_back = {"party": row.party, "kind": "overturned", "overturns": row.event, "reason": reason}
        standing.add(write, [taken_back], f"event {row.event} of party {row.party} is overturned")
    if counts is not None:
        asked = (
            select(profiles)
            .join(decisions, decisions.c.profile == profiles.c.id)
            .where(decisions.c.task == row.task, decisions.c.party == row.party)
        )
        before = write.connection.execute(asked).one()
        parties.describe(write, who, row.party, before.ground, before.member, counts, f"appeal {number}: {reason}"[:400])
    return ruling


def listed(connection: Connection, who: Party) -> list[dict[str, Any]]:
    """The appeals that a party may see, the newest first, with what was decided."""
    if not rights.may(who, "see an appeal"):
        rights.require(who, "see an appeal")
    asked = (
        select(appeals, rulings.c.granted, rulings.c.reason, rulings.c.at.label("decided_at"))
        .outerjoin(rulings, rulings.c.appeal == appeals.c.id)
        .order_by(appeals.c.id.desc())
    )
    if who.role != "network":
        asked = asked.where(appeals.c.party == who.id)
    return [dict(row) for row in connection.execute(asked).mappings()]


def _check_first(write: Write, *where: Any) -> None:
    if write.connection.execute(select(appeals.c.id).where(*where)).first() is not None:
        raise Conflict("this was appealed against before")


def _add(write: Write, who: Party, about: About, task: int | None, event: int | None, words: str) -> int:
    row = {"party": who.id, "about": about, "task": task, "event": event, "words": words}
    return write.add(appeals, row, f"party {who.id} contests a {about}")
