"""A small market for tests: one network owner, one task owner, a few clients with two classes of data."""

from dataclasses import dataclass

from coterie.service import auctioning, bidding, books, lifecycle, parties, verify
from coterie.service.keys import Party
from coterie.service.lifecycle import SERVICE
from coterie.service.parties import Rules
from coterie.service.terms import Terms

GROUND = "here"


@dataclass
class Small:
    store: object
    network: Party
    owner: Party
    clients: list[Party]
    keys: dict[int, str]

    def do(self, who, action, *given, **named):
        return self.store.write(who.id, action, who, *given, **named)

    def balance(self, account):
        with self.store.read() as connection:
            return books.balance(connection, account)

    def problems(self):
        with self.store.read() as connection:
            return list(verify.problems(connection))

    def status(self, task):
        with self.store.read() as connection:
            return lifecycle.get(connection, task).status

    def publish(self, **changes):
        return self.do(self.owner, lifecycle.publish, terms(**changes))

    def opened(self, **changes):
        task = self.publish(**changes)
        self.do(self.owner, lifecycle.open_for_bids, task)
        return task

    def auctioned(self, prices=(10, 20, 30), **changes):
        task = self.opened(**changes)
        for client, price in zip(self.clients, prices, strict=False):
            self.do(client, bidding.bid, task, price)
        self.do(self.owner, lifecycle.close, task)
        self.do(self.network, auctioning.auction, task)
        return task

    def trained(self, kinds=(), **changes):
        """A task in training whose rounds are over; `kinds` are the conduct of the winners, honest where nothing is said."""
        task = self.auctioned(**changes)
        self.do(self.network, lifecycle.begin_training, task)
        with self.store.read() as connection:
            winners = [row["party"] for row in auctioning.cohort(connection, task)]
        judged = dict.fromkeys(winners, ("honest", "trained"))
        judged |= {party: (kind, "a reason") for party, kind in zip(winners, kinds, strict=False)}
        row = {"round": 1, "asked": 2, "answered": 2, "used": 2, "accuracy": 0.5, "loss": 1.0}
        self.store.write(0, lifecycle.round_over, task, row, judged)
        return task

    def settled(self, **changes):
        task = self.trained(**changes)
        self.store.write(0, lifecycle.settle, SERVICE, task)
        return task


def terms(**changes):
    """Two of three clients with 60 samples are needed."""
    usual = {
        "title": "A task",
        "ground": GROUND,
        "quotas": [100, 0],
        "reserve_price": 50,
        "budget": 70,
        "cap": 200,
        "rounds": 1,
    }
    return Terms(**{**usual, **changes})


def small(store, clients=3, money=1000, rules=None):
    """Founds the market."""
    network, key = store.write(0, parties.found, rules or Rules(), "Network")
    owner, owner_key = store.write(network.id, parties.admit, network, "Ann", "owner")
    store.write(network.id, parties.lay_ground, network, GROUND, {"classes": 2})
    admitted = [store.write(network.id, parties.admit, network, f"Client {i}", "client") for i in range(clients)]
    for member, (client, _) in enumerate(admitted):
        store.write(network.id, parties.describe, network, client.id, GROUND, f"client-{member}", [60, 0], "counted")
    if money:
        store.write(network.id, books.pay_in, network, owner.id, money, "start")
    keys = {network.id: key, owner.id: owner_key, **{client.id: given for client, given in admitted}}
    return Small(store, network, owner, [client for client, _ in admitted], keys)
