"""A market with people in it: a network owner, two task owners and forty clients who hold scikit-learn's digits.

Nothing about it is staged: bids are drawn from seeded dice, the auction is the market's, the cohort is trained on
its own data, and what the audit finds is what the updates show. A few clients do not do what they are paid for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import func, select

from coterie import seeds
from coterie.service import auctioning, bidding, books, keys, lifecycle, parties, verify
from coterie.service.keys import Party
from coterie.service.lifecycle import Published
from coterie.service.parties import Rules
from coterie.service.steward import Steward
from coterie.service.store import Store
from coterie.service.tables import audit_head
from coterie.service.tables import parties as parties_table
from coterie.service.terms import Terms

GROUND = "digits"
SETTINGS: dict[str, Any] = {
    "dataset": "digits",
    "partition": {"scheme": "dirichlet", "alpha": 0.5},
    "clients": 40,
    "seed": 7,
    "classes": 10,
}
PLACES = (
    *("Aalto", "Baobab", "Cedar", "Delta", "Elm", "Fjord", "Grove", "Heath", "Inlet", "Juniper", "Knoll", "Lagoon", "Moor"),
    *("Nook", "Orchard", "Pine", "Quarry", "Ridge", "Spruce", "Tarn", "Upland", "Vale", "Willow", "Xylo", "Yew", "Zephyr"),
    *(
        "Alder",
        "Birch",
        "Cove",
        "Dune",
        "Estuary",
        "Fern",
        "Glade",
        "Hollow",
        "Isle",
        "Jetty",
        "Kelp",
        "Larch",
        "Mesa",
        "Nectar",
    ),
)
OWNERS = ("Harbor Clinic", "Postal Lab")


@dataclass(frozen=True)
class Cast:
    """Who takes part."""

    network: Party
    owners: tuple[Party, ...]
    clients: tuple[Party, ...]


def seed(store: Store) -> Cast:
    """Founds the market if there is none, and brings everybody in who is not there yet."""
    store.write(0, parties.found, Rules(), "Commons Network")
    with store.read() as connection:
        there = {row["name"]: Party(row["id"], row["name"], row["role"]) for row in parties.listed(connection)}
        laid = parties.ground_settings(connection, GROUND)
    network = next(party for party in there.values() if party.role == "network")
    if laid is None:
        store.write(network.id, parties.lay_ground, network, GROUND, SETTINGS)
    owners = tuple(_admitted(store, network, there, name, "owner") for name in OWNERS)
    clients = tuple(_admitted(store, network, there, name, "client") for name in PLACES[: SETTINGS["clients"]])
    missing = [client for client in clients if client.name not in there]
    if missing:
        counts = _counts()
        for member, client in enumerate(clients):
            if client in missing:
                given = (GROUND, str(member), counts[member].tolist(), "counted when admitted")
                store.write(network.id, parties.describe, network, client.id, *given)
    return Cast(network, owners, clients)


def terms(number: int) -> Terms:
    """What the demo's tasks ask for: some classes of digits, the rarer ones counting more."""
    quotas = [40, 40, 0, 0, 30, 0, 0, 0, 60, 50] if number % 2 == 0 else [0, 0, 50, 50, 0, 40, 0, 30, 0, 0]
    titles = ("Read handwritten meter digits", "Sort parcels by their last digit")
    return Terms(
        title=f"{titles[number % 2]} {number + 1}",
        about="A small network that reads 8 × 8 gray pictures of digits.",
        ground=GROUND,
        quotas=quotas,
        weights=[3.0 if quota == 30 else 1.0 for quota in quotas],
        budget=40_000,
        reserve_price=6_000,
        cap=80_000,
        places=200,
        rounds=12,
        partial=True,
    )


def play(
    store: Store, steward: Steward, cast: Cast, *, pace: float = 0.0, tell: Callable[[str], None] = lambda _: None
) -> Iterator[Published]:
    """Publishes a task, has clients bid, and yields it whenever it has moved on, until it is over."""
    with store.read() as connection:
        number = len(lifecycle.listed(connection))
    owner = cast.owners[number % len(cast.owners)]
    key = f"demo-{number}"
    store.write(cast.network.id, books.pay_in, cast.network, owner.id, 100_000, key)
    task = store.write(owner.id, lifecycle.publish, owner, terms(number))
    store.write(owner.id, lifecycle.open_for_bids, owner, task)
    tell(f"task {task} is open for bids")
    dice = seeds.rng(SETTINGS["seed"], "demo bids", number)
    for client in dice.permutation(len(cast.clients)).tolist():
        who, price = cast.clients[client], int(dice.integers(1_000, 4_001))
        store.write(who.id, bidding.bid, who, task, price)
        time.sleep(pace)
    store.write(owner.id, lifecycle.close, owner, task)
    while True:
        steward.once() if not pace else time.sleep(pace)
        with store.read() as connection:
            now = lifecycle.get(connection, task)
        tell(f"task {task} is {now.status}")
        yield now
        if not lifecycle.NEXT[now.status]:
            return


def summary(store: Store, task: int) -> dict[str, Any]:
    """What came of a task, and whether everything holds."""
    with store.read() as connection:
        published = lifecycle.get(connection, task)
        winners = auctioning.cohort(connection, task)
        settled = published.status == "settled"
        return {
            "task": task,
            "status": published.status,
            "winners": len(winners),
            "paid": _paid(connection, task) if settled else 0,
            "ledger_sum": sum(books.balances(connection).values()),
            "audit_entries": connection.execute(select(func.max(audit_head.c.number))).scalar_one(),
            "problems": list(verify.problems(connection)),
        }


def demo_keys(store: Store, cast: Cast) -> dict[str, str]:
    """A fresh key for one party of each role, to enter the page with."""
    chosen = {"network": cast.network, "owner": cast.owners[0], "client": cast.clients[0]}
    return {role: store.write(0, keys.issue, party.id, "demo")[1] for role, party in chosen.items()}


def _paid(connection: Any, task: int) -> int:
    settlement = books.made(connection, f"settlement/{task}")
    owner = connection.execute(select(parties_table.c.id).where(parties_table.c.role == "owner")).scalars().all()
    accounts = {f"party:{one}" for one in owner}
    moved = {} if settlement is None else settlement[1].entries
    return sum(amount for account, amount in moved.items() if account.startswith("party:") and account not in accounts)


def _admitted(store: Store, network: Party, there: dict[str, Party], name: str, role: keys.Role) -> Party:
    return there[name] if name in there else store.write(network.id, parties.admit, network, name, role)[0]


def _counts() -> np.ndarray:
    from coterie.data import SCHEMES, load

    scheme = dict(SETTINGS["partition"])
    data = load("digits")
    parted = SCHEMES[scheme.pop("scheme")](**scheme).split(data, SETTINGS["clients"], SETTINGS["seed"])
    return np.asarray(parted.counts(data.y.astype(np.int64), data.classes))
