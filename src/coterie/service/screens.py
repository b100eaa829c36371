"""The page: the market for people, rendered here, with forms that work without scripts."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, select_autoescape
from sqlalchemy import Connection, select

from coterie.market.explain import VERDICTS
from coterie.service import (
    appeals,
    auctioning,
    audit_log,
    bidding,
    books,
    charts,
    keys,
    lifecycle,
    parties,
    rights,
    standing,
    verify,
)
from coterie.service.desk import COOKIE, Desk
from coterie.service.keys import IN_WORDS, Party
from coterie.service.refusals import Conflict, NotAllowed, NotThere, Refused, Unfit, Unknown
from coterie.service.tables import audit_log as log_table
from coterie.service.tables import bids, decisions, grounds, rounds, tasks
from coterie.service.tables import parties as parties_table
from coterie.service.terms import Terms

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
CENTS = 100
"""Minor units in a unit, for showing and reading amounts."""
STEPS = ("draft", "open", "closed", "auctioned", "training", "settled")
LIVE = ("open", "closed", "auctioned", "training")
GUARDED = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""Nothing comes from elsewhere, is shown inside another page, or is kept."""
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def money(amount: int | None) -> str:
    """An amount for people.

    >>> money(123456), money(-5), money(None)
    ('1,234.56', '−0.05', '–')
    """
    if amount is None:
        return "–"
    sign = "−" if amount < 0 else ""
    return f"{sign}{abs(amount) // CENTS:,}.{abs(amount) % CENTS:02d}"


def amount_of(text: str, what: str) -> int:
    """An amount as people write it.

    >>> amount_of("12.5", "price"), amount_of("1,200", "price")
    (1250, 120000)
    """
    whole, _, part = text.strip().replace(",", "").partition(".")
    if (
        not (whole or part)
        or not (whole + part).isdecimal()
        or not (whole + part).isascii()
        or len(part) > 2
        or len(whole) > 12
    ):
        raise Unfit(f"{what}: '{text}' is no amount such as 12.50")
    return int(whole or 0) * CENTS + int(part.ljust(2, "0") if part else 0)


SHOWN = Environment(
    loader=PackageLoader("coterie.service"), autoescape=select_autoescape(), trim_blocks=True, lstrip_blocks=True
)
SHOWN.filters |= {"money": money, "moment": charts.moment}
SHOWN.globals |= {"in_words": IN_WORDS, "steps": STEPS, "live_statuses": LIVE, "may": rights.may}


def at_desk(request: Request) -> Desk:
    """Lets in who entered with a key, and refuses forms that another site sent."""
    if request.method == "POST" and request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise NotAllowed("this form was sent from another site")
    key = request.cookies.get(COOKIE, "")
    if not key:
        raise Unknown("enter with your key first")
    store = request.app.state.store
    with store.read() as connection:
        return Desk(store, request.app.state.steward, keys.whose(connection, key))


AtDesk = Annotated[Desk, Depends(at_desk)]
Text = Annotated[str, Form()]


def shown(template: str, desk: Desk | None, status: int = 200, **what: Any) -> HTMLResponse:
    """A rendered page."""
    who = None if desk is None else desk.who
    return HTMLResponse(SHOWN.get_template(template).render(who=who, **what), status, GUARDED)


def to(path: str) -> RedirectResponse:
    """Goes on to a page after a form was taken."""
    return RedirectResponse(path, 303)


@router.get("/")
def home(request: Request) -> Response:
    """The tasks, or the door."""
    try:
        desk = at_desk(request)
    except Unknown:
        return shown("enter.html", None, entrances=request.app.state.entrances)
    return tasks_page(desk)


@router.post("/enter")
def enter(request: Request, key: Text) -> Response:
    """Comes in with a key, which the browser keeps where scripts cannot read it."""
    key = key.strip()
    try:
        with request.app.state.store.read() as connection:
            keys.whose(connection, key)
    except Unknown as refused:
        return shown("enter.html", None, 401, entrances=request.app.state.entrances, refused=refused.reason)
    answer = to("/")
    secure = request.url.scheme == "https"
    answer.set_cookie(COOKIE, key, max_age=30 * 86_400, httponly=True, samesite="strict", secure=secure)
    return answer


@router.post("/leave")
def leave() -> Response:
    """Goes out again."""
    answer = to("/")
    answer.delete_cookie(COOKIE)
    return answer


@router.get("/tasks")
def tasks_page(desk: AtDesk) -> Response:
    """All tasks that a party may know of, and its own standing above them."""
    with desk.store.read() as connection:
        listed = lifecycle.visible(connection, desk.who)
        known = {task.id: bidding.count(connection, task.id) for task in listed}
        own = _own_parts(connection, desk.who)
        about = _in_short(connection, desk)
        names = _names(connection)
    return shown("tasks.html", desk, tasks=listed, bidders=known, own=own, about=about, names=names)


@router.get("/tasks/new")
def new_task(desk: AtDesk, ground: str = "") -> Response:
    """The form for a task."""
    return _new_task(desk, {"ground": ground})


@router.post("/tasks/new")
async def publish(request: Request, desk: AtDesk) -> Response:
    """Writes a task down as a draft."""
    form = {name: str(value) for name, value in (await request.form()).multi_items()}
    try:
        task = desk.write(lifecycle.publish, _terms(form))
    except Refused as refused:
        return _new_task(desk, form, refused)
    return to(f"/tasks/{task}")


@router.get("/tasks/{number}")
def task_page(desk: AtDesk, number: int) -> Response:
    """A task, as far as it concerns who looks at it."""
    return _task(desk, number)


@router.get("/tasks/{number}/live")
def live(desk: AtDesk, number: int) -> Response:
    """The part of a task's page that changes by itself."""
    with desk.store.read() as connection:
        return shown("task_live.html", desk, **_task_facts(connection, desk, number))


@router.post("/tasks/{number}/{step}")
def take_step(desk: AtDesk, number: int, step: str, price: Text = "", reason: Text = "", words: Text = "") -> Response:
    """Takes a task a step on, bids, or contests a valuation."""
    taken: dict[str, Callable[[], Any]] = {
        "open": lambda: desk.write(lifecycle.open_for_bids, number),
        "close": lambda: desk.write(lifecycle.close, number),
        "auction": lambda: desk.write(auctioning.auction, number),
        "train": lambda: desk.write(lifecycle.begin_training, number),
        "settle": lambda: desk.write(lifecycle.settle, number),
        "cancel": lambda: desk.write(lifecycle.cancel, number, _said(reason, "reason")),
        "bid": lambda: desk.write(bidding.bid, number, amount_of(price, "price")),
        "withdraw": lambda: desk.write(bidding.withdraw, number),
        "appeal": lambda: desk.write(appeals.contest_valuation, number, _said(words, "words")),
    }
    if step not in taken:
        raise NotThere("there is no such step")
    try:
        taken[step]()
    except Refused as refused:
        return _task(desk, number, refused)
    desk.steward.wake()
    return to(f"/tasks/{number}")


@router.get("/people")
def people(desk: AtDesk) -> Response:
    """Everybody, for the network owner."""
    return _people(desk)


@router.post("/people")
def admit(desk: AtDesk, name: Text, role: Text) -> Response:
    """Lets somebody take part, and shows the key this once."""
    try:
        known: dict[str, keys.Role] = {"owner": "owner", "client": "client"}
        if role not in known:
            raise Unfit("role: must be a task owner or a client")
        party, key = desk.write(parties.admit, _said(name, "name", 80), known[role])
    except Refused as refused:
        return _people(desk, refused=refused)
    return _people(desk, admitted=party, key=key)


@router.get("/people/{number}")
def person(desk: AtDesk, number: int) -> Response:
    """A client: reputation over time, events, data, auctions."""
    return _person(desk, number)


@router.post("/people/{number}/data")
def describe(desk: AtDesk, number: int, ground: Text, member: Text, counts: Text, reason: Text) -> Response:
    """Says what data a client has."""
    try:
        given = (_said(ground, "ground", 80), _said(member, "member", 80), _counts(counts), _said(reason, "reason"))
        desk.write(parties.describe, number, *given)
    except Refused as refused:
        return _person(desk, number, refused)
    return to(f"/people/{number}")


@router.get("/ledger")
def ledger(desk: AtDesk) -> Response:
    """Money: one's own account, or all of them."""
    return _ledger(desk)


@router.post("/ledger")
def move_money(desk: AtDesk, way: Text, amount: Text, key: Text, party: Annotated[int, Form()] = 0) -> Response:
    """Books money that came in, or takes money out."""
    whom = party or desk.who.id
    try:
        if (
            not key
            or not key.isascii()
            or not key.replace("-", "").replace(".", "").replace("_", "").isalnum()
            or len(key) > 64
        ):
            raise Unfit("key: must be letters, digits, '-', '.' and '_', up to 64")
        desk.write(books.pay_in if way == "in" else books.take_out, whom, amount_of(amount, "amount"), key)
    except Refused as refused:
        return _ledger(desk, refused)
    return to("/ledger")


@router.get("/appeals")
def appeals_page(desk: AtDesk) -> Response:
    """Appeals, and what can be contested."""
    return _appeals(desk)


@router.post("/appeals")
def contest(desk: AtDesk, event: Annotated[int, Form()], words: Text) -> Response:
    """Contests a penalty."""
    try:
        desk.write(appeals.contest_penalty, event, _said(words, "words", 2000))
    except Refused as refused:
        return _appeals(desk, refused)
    return to("/appeals")


@router.post("/appeals/{number}")
def rule(desk: AtDesk, number: int, verdict: Text, reason: Text, counts: Text = "") -> Response:
    """Decides an appeal."""
    try:
        given = _counts(counts) if counts.strip() and verdict == "granted" else None
        desk.write(appeals.rule, number, verdict == "granted", _said(reason, "reason"), given)
    except Refused as refused:
        return _appeals(desk, refused)
    return to("/appeals")


@router.get("/audit")
def audit(desk: AtDesk, before: int = 2**53, check: bool = False) -> Response:
    """The audit log, the newest first, and on demand whether all holds."""
    rights.require(desk.who, "see the audit log")
    with desk.store.read() as connection:
        asked = select(log_table).where(log_table.c.number < before).order_by(log_table.c.number.desc()).limit(100)
        entries = [dict(row) for row in connection.execute(asked).mappings()]
        found = list(verify.problems(connection)) if check else None
        names = _names(connection)
    return shown("audit.html", desk, entries=entries, problems=found, names=names)


@router.get("/docs")
def docs(request: Request) -> Response:
    """The API for people, from its own contract."""
    contract = request.app.openapi()
    groups: dict[str, list[tuple[str, str, Any]]] = {}
    for path, operations in contract["paths"].items():
        for method, operation in operations.items():
            groups.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    return shown("docs.html", None, groups=groups, about=contract["info"]["description"])


@router.get("/static/{name}")
def static(name: str) -> Response:
    """A file of the page; nothing comes from elsewhere."""
    file = files("coterie.service").joinpath("static", name)
    ending = name[name.rfind(".") :]
    if "/" in name or ending not in TYPES or not file.is_file():
        raise NotThere("there is no such file")
    return Response(file.read_bytes(), media_type=TYPES[ending], headers={"Cache-Control": "max-age=3600"})


def refused_page(request: Request, refused: Refused) -> Response:
    """What people see where something is refused outside a form."""
    if isinstance(refused, Unknown):
        return shown("enter.html", None, 401, entrances=request.app.state.entrances, refused=refused.reason)
    try:
        desk = at_desk(request)
    except Refused:
        desk = None
    return shown("refused.html", desk, refused.status, reason=refused.reason)


def _task(desk: Desk, number: int, refused: Refused | None = None) -> Response:
    with desk.store.read() as connection:
        facts = _task_facts(connection, desk, number)
        task = facts["task"]
        facts["own_bid"] = bidding.own(connection, number, desk.who.id) if desk.who.role == "client" else None
        facts["known_data"] = (
            task.terms.ground in {one["ground"] for one in parties.descriptions(connection, desk.who.id)}
            if desk.who.role == "client"
            else True
        )
    return shown("task.html", desk, refused.status if refused else 200, refused=refused, **facts)


def _task_facts(connection: Connection, desk: Desk, number: int) -> dict[str, Any]:
    """All that a task's page may show to whom."""
    who, task = desk.who, lifecycle.seen(connection, desk.who, number)
    decided = task.status not in ("draft", "open", "closed")
    trained = connection.execute(select(rounds).where(rounds.c.task == number).order_by(rounds.c.round)).mappings().all()
    facts: dict[str, Any] = {
        "task": task,
        "path": lifecycle.path(connection, number),
        "bidders": bidding.count(connection, number),
        "trained": trained,
        "curve": charts.training([(row["round"], row["accuracy"]) for row in trained if row["accuracy"] is not None]),
        "held": books.balance(connection, task.escrow),
        "names": _names(connection),
        "cohort": None,
        "parts": [],
        "mine": None,
    }
    if decided and rights.may(who, "see a cohort", task.owner):
        facts["cohort"] = auctioning.statistics(connection, who, number)
        asked = select(decisions).where(decisions.c.task == number)
        asked = asked if who.role == "network" else asked.where(decisions.c.won)
        facts["parts"] = sorted(connection.execute(asked).mappings(), key=lambda row: (not row["won"], row["rank"] or 10**9))
    if decided and who.role == "client":
        try:
            facts["mine"] = auctioning.explanation(connection, who, number, who.id)
        except NotThere:
            facts["mine"] = None
        facts["why"] = _why(facts["mine"])
    return facts


def _why(part: dict[str, Any] | None) -> str:
    """A client's part in an auction, in a sentence."""
    if part is None:
        return ""
    if part["won"]:
        return (
            f"You won. You asked {money(part['price'])} and are paid {money(part['payment'])}: the highest bid with which you "
            "would still have won. Asking for more or less would not have paid you more."
        )
    would = (
        "No bid would have won."
        if part["critical"] is None
        else f"With a bid of up to {money(part['critical'])} you would have won."
    )
    reason = {
        VERDICTS[1]: "You asked more than the reserve price",
        VERDICTS[2]: "You hold no sample of a class that is needed",
        VERDICTS[3]: "What you hold was not needed any more when your turn came",
        VERDICTS[4]: "Your bid did not fit what the budget left when your turn came",
        VERDICTS[5]: "All that is needed was found before your turn came",
    }.get(part["verdict"], "You asked more for what you hold than its share of the budget")
    return f"You did not win. {reason}. {would}"


def _new_task(desk: Desk, form: dict[str, str], refused: Refused | None = None) -> Response:
    rights.require(desk.who, "publish a task")
    with desk.store.read() as connection:
        known = {row.name: json.loads(row.settings) for row in connection.execute(select(grounds).order_by(grounds.c.id))}
        laid_down = parties.rules_of(connection)
        balance = books.balance(connection, desk.who.account)
    if not known:
        refused = refused or Conflict("the network owner has named no ground for training yet")
    ground = form.get("ground") or next(iter(known), "")
    classes = known.get(ground, {}).get("classes", 10)
    status = refused.status if refused else 200
    facts = {"form": form, "grounds": known, "ground": ground, "classes": classes, "rules": laid_down, "balance": balance}
    return shown("new_task.html", desk, status, refused=refused, **facts)


def _terms(form: dict[str, str]) -> Terms:
    """The terms that a form describes."""

    def optional(name: str) -> int | None:
        return amount_of(form[name], name) if form.get(name, "").strip() else None

    def number(name: str, usual: float) -> float:
        try:
            return float(form.get(name, "").strip() or usual)
        except ValueError:
            raise Unfit(f"{name}: '{form[name]}' is no number") from None

    def whole(name: str, usual: int) -> int:
        text = form.get(name, "").strip() or str(usual)
        if not text.isdecimal() or len(text) > 12:
            raise Unfit(f"{name}: '{text}' is no whole number")
        return int(text)

    classes = sorted(
        int(name.removeprefix("quota-"))
        for name in form
        if name.removeprefix("quota-").isdecimal() and name != name.removeprefix("quota-")
    )
    return Terms(
        title=_said(form.get("title", ""), "title", 120),
        about=form.get("about", "")[:2000].replace("\x00", ""),
        ground=_said(form.get("ground", ""), "ground", 80),
        quotas=[whole(f"quota-{d}", 0) for d in classes],
        weights=[number(f"weight-{d}", 1.0) for d in classes],
        reserve_price=amount_of(form.get("reserve_price", ""), "reserve price"),
        budget=optional("budget"),
        cap=optional("cap"),
        rounds=whole("rounds", 10),
        places=whole("places", 1000),
        mechanism=form.get("mechanism", "critical"),  # type: ignore[arg-type]
        partial=form.get("partial") == "on",
        reputation_weight=number("reputation_weight", 0.5),
        price_weight=number("price_weight", 1.0),
    )


def _people(desk: Desk, refused: Refused | None = None, **what: Any) -> Response:
    rights.require(desk.who, "see all parties")
    with desk.store.read() as connection:
        listed = parties.listed(connection)
        known = standing.reputations(connection, _now(connection, desk))
        held = books.balances(connection)
    accounts = {one["id"]: held.get(Party(one["id"], one["name"], one["role"]).account, 0) for one in listed}
    status = refused.status if refused else 200
    return shown("people.html", desk, status, people=listed, reputations=known, accounts=accounts, refused=refused, **what)


def _person(desk: Desk, number: int, refused: Refused | None = None) -> Response:
    with desk.store.read() as connection:
        who = parties.seen(connection, desk.who, number, "see a reputation")
        now = _now(connection, desk)
        events = list(reversed(standing.history(connection, number).get(number, [])))
        course = standing.course(connection, number, now) if events else []
        data = parties.descriptions(connection, number)
        parts = connection.execute(
            select(decisions, tasks.c.title)
            .join(tasks, tasks.c.id == decisions.c.task)
            .where(decisions.c.party == number)
            .order_by(decisions.c.task.desc())
        ).mappings()
        contested = {one["event"] for one in appeals.listed(connection, desk.who) if one["party"] == number}
        facts = {
            "person": who,
            "events": events[:200],
            "value": course[-1][1] if course else 0.0,
            "curve": charts.reputation(course),
            "data": data,
            "parts": list(parts),
            "contested": contested,
            "overturned": {event.overturns for event in events if event.overturns},
            "rules": parties.rules_of(connection),
            "refused": refused,
            "grounds": [row.name for row in connection.execute(select(grounds.c.name))],
        }
    return shown("person.html", desk, refused.status if refused else 200, **facts)


def _ledger(desk: Desk, refused: Refused | None = None) -> Response:
    with desk.store.read() as connection:
        lines = books.statement(connection, desk.who.account)
        own = books.balance(connection, desk.who.account)
        everything = books.balances(connection) if rights.may(desk.who, "see all accounts") else {}
        names = _names(connection)
        owners = connection.execute(select(parties_table).where(parties_table.c.role == "owner")).mappings().all()
        number = audit_log.head_of(connection).number
    return shown(
        "ledger.html", desk, refused.status if refused else 200, lines=lines, own=own, everything=everything, names=names,
        owners=owners, refused=refused, key=f"page-{number}",
    )  # fmt: skip


def _appeals(desk: Desk, refused: Refused | None = None) -> Response:
    with desk.store.read() as connection:
        listed = appeals.listed(connection, desk.who)
        events = standing.history(connection, desk.who.id).get(desk.who.id, []) if desk.who.role == "client" else []
        names = _names(connection)
    contested = {one["event"] for one in listed}
    open_ = [event for event in events if event.kind == "dishonest" and event.number not in contested]
    return shown(
        "appeals.html", desk, refused.status if refused else 200, appeals=listed, penalties=open_, names=names, refused=refused
    )


def _in_short(connection: Connection, desk: Desk) -> dict[str, Any]:
    """What a party wants to know first."""
    about: dict[str, Any] = {"balance": books.balance(connection, desk.who.account)}
    if desk.who.role == "client":
        rows = standing.history(connection, desk.who.id).get(desk.who.id, [])
        about["reputation"] = standing.reputation(parties.rules_of(connection).pipp, rows, _now(connection, desk))
        about["data"] = next(iter(parties.descriptions(connection, desk.who.id)), None)
    if desk.who.role == "network":
        about["parties"] = len(parties.listed(connection))
        about["entries"] = audit_log.head_of(connection).number
        about["appeals"] = sum(one["granted"] is None for one in appeals.listed(connection, desk.who))
    return about


def _own_parts(connection: Connection, who: Party) -> dict[int, str]:
    """For each task what a client's part in it is, in a word."""
    if who.role != "client":
        return {}
    asked = select(bids.c.task, bids.c.price).where(bids.c.party == who.id).order_by(bids.c.id)
    said = {row.task: f"you ask {money(row.price)}" if row.price is not None else "" for row in connection.execute(asked)}
    won = select(decisions.c.task, decisions.c.won, decisions.c.payment).where(decisions.c.party == who.id)
    return said | {
        row.task: f"you won: {money(row.payment)}" if row.won else "you did not win" for row in connection.execute(won)
    }


def _names(connection: Connection) -> dict[int, str]:
    rows = connection.execute(select(parties_table.c.id, parties_table.c.name))
    return {0: "the service", **{row.id: row.name for row in rows}}


def _now(connection: Connection, desk: Desk) -> float:
    return max(desk.store.clock(), audit_log.head_of(connection).at)


def _said(text: str, what: str, most: int = 400) -> str:
    text = " ".join(text.split()) if most < 2000 else text.strip()
    if not text or len(text) > most or any(ord(sign) < 32 and sign not in "\r\n\t" for sign in text):
        raise Unfit(f"{what}: must be 1 to {most} characters")
    return text


def _counts(text: str) -> list[int]:
    parts = text.replace(",", " ").split()
    if not parts or not all(part.isdecimal() and len(part) <= 10 for part in parts):
        raise Unfit("counts: write one whole number a class, such as 12, 0, 30")
    return [int(part) for part in parts]
