"""`coterie market`: the marketplace: serve it, show it, check it, or clear an auction from a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli import said
from coterie.cli.plain import App

if TYPE_CHECKING:
    from coterie.service.store import Store

URL = "sqlite:///market.db"
Db = Annotated[str, typer.Option("--db", help="sqlite:///FILE, or postgresql://USER@HOST/DATABASE.")]

EXAMPLES = """\b
Examples:
  coterie market serve --demo
  coterie market demo --db sqlite:///demo.db --json -
  coterie market verify --db sqlite:///demo.db
  coterie market clear auction.json --json -
"""
SERVE = """\b
Examples:
  coterie market serve
  coterie market serve --demo --port 8080
  coterie market serve --db postgresql://me@localhost/market --by-hand
"""
DEMO = """\b
Examples:
  coterie market demo
  coterie market demo --db sqlite:///demo.db --json -
"""
VERIFY = """\b
Examples:
  coterie market verify --db sqlite:///demo.db
  coterie market verify --db postgresql://me@localhost/market --json -
"""
KEY = """\b
Examples:
  coterie market key "Network owner" --db sqlite:///market.db
"""
CLEAR = """\b
Examples:
  coterie market clear auction.json
  coterie market clear auction.json --mechanism proportional-share --json -

\b
auction.json: {"task": {"quotas": [100], "reserve_price": 50, "budget": 70},
               "bids": {"prices": [10, 20, 30], "counts": [[60], [60], [60]]}}
"""


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    group = App(help="The marketplace: serve it, show it, check it.")
    group.command(epilog=SERVE)(serve)
    group.command(epilog=DEMO)(demo)
    group.command(epilog=VERIFY)(verify)
    group.command(epilog=KEY)(key)
    group.command(epilog=CLEAR)(clear)
    app.add_typer(group, name="market", epilog=EXAMPLES, no_args_is_help=True)


def serve(
    db: Db = URL,
    host: Annotated[str, typer.Option(help="Where to listen; 127.0.0.1 is this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port.")] = 8000,
    name: Annotated[str, typer.Option(help="The network owner's name, where the market is new.")] = "Network owner",
    by_hand: Annotated[
        bool, typer.Option("--by-hand", help="Auctions and training start when the network owner says so.")
    ] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Bring in people and have a task run, live.")] = False,
    pace: Annotated[float, typer.Option(min=0, help="Seconds between the demo's bids.")] = 0.4,
) -> None:
    """Serve the market: API and page. A new market prints the network owner's key, once."""
    store = _opened(db)
    import uvicorn

    from coterie.service import parties
    from coterie.service.app import create_app
    from coterie.service.steward import Steward

    console = said.console()
    steward, entrances = Steward(store, automatic=not by_hand), {}
    if demo:
        entrances = _live(store, steward, pace)
    else:
        founded = store.write(0, parties.found, parties.Rules(), name)
        if founded is not None:
            console.print(f"A new market. The network owner's key, shown this once:\n  {founded[1]}")
    console.print(f"Market: http://{host}:{port}   API: http://{host}:{port}/docs   Database: {store.url}")
    uvicorn.run(create_app(store, steward, entrances=entrances), host=host, port=port, log_level="warning", ws="none")


def demo(db: Db = URL, json: said.Json = None) -> None:
    """Bring in a network owner, task owners and clients, and run a task to its settlement."""
    said.check_json(json)
    store = _opened(db)
    from coterie.service import demo as show
    from coterie.service.steward import Steward

    console = said.console(json, progress=True)
    cast, steward = show.seed(store), Steward(store)
    over = list(show.play(store, steward, cast, tell=console.print))[-1]
    found = show.summary(store, over.id)
    store.close()
    said.write_json(json, found)
    if json != "-":
        said.console().print(
            f"Task {found['task']} is {found['status']}: {found['winners']} winners are paid {found['paid']}. "
            f"All accounts together hold {found['ledger_sum']}. The audit log has {found['audit_entries']} entries.\n"
            f"Look at it: coterie market serve --db {db} --demo"
        )
    _end(found["problems"] or over.status != "settled")


def verify(db: Db = URL, json: said.Json = None) -> None:
    """Check the log, the money and every auction; exit 1 with what does not hold."""
    said.check_json(json)
    store = _opened(db, there=True)
    from coterie.service import verify as verification

    with store.read() as connection:
        found = list(verification.problems(connection))
    store.close()
    said.write_json(json, {"holds": not found, "problems": found})
    if json != "-":
        said.console().print(
            "Everything holds: the audit log, the rows, the money, the auctions." if not found else "\n".join(found)
        )
    _end(found)


def key(
    name: Annotated[str, typer.Argument(help="Whose: the party's name.")],
    db: Db = URL,
    label: Annotated[str, typer.Option(help="What to remember the key by.")] = "made at the database",
) -> None:
    """Make a further key for a party, for whoever has the database: where the network owner's was lost."""
    store = _opened(db, there=True)
    from coterie.service import keys, parties

    with store.read() as connection:
        known = {row["name"]: row["id"] for row in parties.listed(connection)}
    if name not in known:
        raise said.wrong("NAME", f"there is no party '{name}'; there are {', '.join(sorted(known)[:10]) or 'none'}")
    made = store.write(0, keys.issue, known[name], label[:80])[1]
    store.close()
    said.console().print(made, soft_wrap=True, highlight=False)


def clear(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A task and bids, as JSON.")],
    mechanism: Annotated[
        str, typer.Option(help="critical, or proportional-share, which never exceeds the budget.")
    ] = "critical",
    scale: Annotated[str, typer.Option(help="market, or none, as the source prints the score.")] = "market",
    json: said.Json = None,
) -> None:
    """Clear an auction from a file, without any database."""
    said.check_json(json)
    from coterie.market import Bids, Task
    from coterie.market import clear as cleared
    from coterie.market.explain import explain

    given = _read(file)
    try:
        task, bids = Task(**given["task"]), Bids(**given["bids"])
        award = cleared(task, bids, mechanism=mechanism, scale=scale)  # type: ignore[arg-type]
        why = explain(task, bids, mechanism=mechanism, scale=scale)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise said.wrong(str(file), str(error).replace("__init__() ", "")) from None
    found = {
        **award.summary(),
        "winners": award.winners.tolist(),
        "payments": award.payments.tolist(),
        "standby": award.standby.tolist(),
        "why": [why[i].sentence for i in range(len(bids))],
    }
    said.write_json(json, found)
    if json != "-":
        said.console().print(
            "\n".join([*found["why"], f"{len(award.winners)} winners are paid {award.paid}; overrun {award.overrun}."])
        )


def _opened(db: str, there: bool = False) -> Store:
    """The database, with this version's tables."""
    try:
        from sqlalchemy.exc import SQLAlchemyError

        from coterie.service.migrations import migrate
        from coterie.service.store import Store
    except ImportError as error:
        raise said.wrong("coterie market", f"needs the extra 'service' (pip install 'coterie[service]'): {error}") from None
    try:
        store = Store(db)
    except ValueError as error:
        raise said.wrong("--db", str(error)) from None
    file = store.engine.url.database if store.engine.dialect.name == "sqlite" else None
    if there and file and not Path(file).exists():
        raise said.wrong("--db", f"there is no market in {file}")
    try:
        migrate(store)
    except SQLAlchemyError as error:
        raise said.wrong("--db", f"{store.url} cannot be opened: {str(error).splitlines()[0]}") from None
    return store


def _live(store: Store, steward: Any, pace: float) -> dict[str, str]:
    """Has the demo's people run tasks beside the service, and returns keys to enter with."""
    from threading import Thread

    from coterie.service import demo as show

    cast = show.seed(store)

    def run() -> None:
        for _ in show.play(store, steward, cast, pace=pace):
            pass

    Thread(target=run, name="demo", daemon=True).start()
    return show.demo_keys(store, cast)


def _read(file: Path) -> dict[str, Any]:
    import json

    try:
        given = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise said.wrong(str(file), f"cannot be read as JSON: {error}") from None
    if not isinstance(given, dict) or not all(isinstance(given.get(part), dict) for part in ("task", "bids")):
        raise said.wrong(str(file), 'must hold {"task": {…}, "bids": {…}}')
    return given


def _end(failed: Any) -> None:
    sys.stdout.flush()
    if failed:
        raise typer.Exit(1)
