"""The service killed as by `kill -9` at named places: what was acknowledged is there, and nothing is there by half.

Each case serves a market in a process of its own that dies at one place, tells a whole story over HTTP until it does, serves
the same database again, looks, and tells the story to its end. COTERIE_CRASH_POINTS=all tries every place on both databases
(`make test-market`); usually there are a few, other ones on each.
"""

import multiprocessing
import os
import random
import signal
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count

import httpx
import pytest
from sqlalchemy import select

from coterie.service import audit_log, crashes, parties, verify
from coterie.service import store as store_module
from coterie.service.parties import Rules
from coterie.service.store import Store, Write
from coterie.service.tables import AUDITED, bids, rules
from coterie.service.tables import audit_log as log_table
from tests.service.small import GROUND

POINTS = [*crashes.LANE, *(f"{table}/{when}" for table in AUDITED for when in ("before", "after"))]
LATER = [f"{place}:{turn}" for place in ("lane/before commit", "lane/committed", "lane/answered") for turn in (9, 17, 26)]
"""Places that are passed again and again, at other moments of the story."""
KILLS = 50 if os.environ.get("COTERIE_CRASH_POINTS") == "all" else 2
ALL = os.environ.get("COTERIE_CRASH_POINTS") == "all"
FEW = {
    "sqlite": ("lane/before commit:9", "bids/after", "decisions/after", "entries/after", "moves/before"),
    "postgresql": ("lane/committed:17", "decisions/before", "entries/before"),
}
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["tests.service.test_crashes", "coterie.service.app", "coterie.testing.toy", "coterie.service.training"]
)
WORDS = {"amount": 500, "key": "first"}
STATUSES = {"open": "open", "close": "closed", "auction": "auctioned", "train": "training", "settled": "settled"}
TASK = {"title": "Digits", "ground": GROUND, "quotas": [100, 0], "reserve_price": 50, "budget": 70, "cap": 200, "rounds": 3}


def places(database):
    return [*POINTS, *LATER] if ALL else FEW[database]


def serving(url, where, mouth, plant):
    """A process that serves a market until it is killed, or kills itself at a place."""
    import uvicorn

    from coterie.service.app import create_app
    from coterie.service.migrations import migrate
    from coterie.service.steward import Steward
    from coterie.testing.toy import Toy

    plant()
    crashes.WHERE = where
    store = Store(url)
    migrate(store)
    founded = store.write(0, parties.found, Rules(), "Network")
    network = parties.keys.Party(founded[0].id if founded else 2, "Network", "network")
    with store.read() as connection:
        laid = parties.ground_settings(connection, GROUND)
    if laid is None:
        store.write(network.id, parties.lay_ground, network, GROUND, {"classes": 2})
    spare = store.write(0, parties.keys.issue, network.id, "for the test")[1]
    app = create_app(store, Steward(store, lambda settings: Toy(3), automatic=False))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", ws="none"))
    tell = server.startup

    async def startup(sockets=None):
        await tell(sockets)
        mouth.send((server.servers[0].sockets[0].getsockname()[1], spare))

    server.startup = startup
    server.run()


def nothing():
    """No defect is planted."""


def answers_early():
    """Writes are acknowledged, and a little later they are put on disk."""
    real = store_module._done

    def done(write, job):
        result, failure = real(write, job)
        if failure is None:
            job.answer.set_result(result)
            time.sleep(2 * (crashes._seen["lane/before commit"] == 8))
            job = store_module._Job(job.actor, job.action, Future())
        return result, failure

    store_module._done = done
    Future.set_result = lambda answer, result, real=Future.set_result: answer.done() or real(answer, result)


def writes_by_halves():
    """What a write has done so far is put on disk before it is through."""
    real = Write.add

    def add(write, table, rows, action):
        if table.name == "entries":
            write.connection.connection.commit()
        return real(write, table, rows, action)

    Write.add = add


class Killed(Exception):  # noqa: N818 - it is what is meant to happen
    """The process is gone, in the middle of a request or before it listened."""


@contextmanager
def served(url, where="", plant=nothing):
    """Serves, and gives the address, a key of the network owner and the process; kills it in the end."""
    ear, mouth = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=serving, args=(url, where, mouth, plant), daemon=True)
    process.start()
    mouth.close()
    try:
        try:
            port, key = ear.recv()
        except EOFError:
            raise Killed from None
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as web:
            yield web, key, process
    finally:
        ear.close()
        with suppress(ProcessLookupError):  # it may be dead, and not yet known to be
            os.kill(process.pid, signal.SIGKILL)
        process.join()


class Story:
    """A task from the first party to the settlement and an appeal; what came of each step is kept over crashes."""

    def __init__(self):
        self.keys, self.ids, self.acknowledged, self.log = {}, {}, [], {}
        self.made = set()
        """Numbers that were answered: each is that of the log's entry that wrote it."""
        self.labels = count()

    def tell(self, web, network):
        """Goes on where it stopped, as people do: what was not acknowledged is tried again."""
        self.web, self.keys["network"] = web, network
        for step in self.steps():
            if step.__name__ in self.acknowledged:
                continue
            step()
            self.acknowledged.append(step.__name__)
            self.remember()

    def tell_until(self, web, network, last):
        """Tells it up to a step."""
        self.web, self.keys["network"] = web, network
        for step in self.steps():
            step()
            self.acknowledged.append(step.__name__)
            if step.__name__ == last:
                return

    def steps(self):
        yield from (self.admit_owner, self.admit_clients, self.describe, self.pay_in, self.publish, self.open, self.bid)
        yield from (self.rebid, self.close, self.auction, self.train, self.settled, self.appeal, self.ruling, self.take_out)
        yield from (self.another_key, self.revoke)

    def ask(self, who, method, path, json=None, *, refused=()):
        try:
            answer = self.web.request(method, f"/api{path}", json=json, headers={"Authorization": f"Bearer {self.keys[who]}"})
        except httpx.TransportError:
            raise Killed from None
        assert answer.is_success or answer.status_code in refused, answer.text
        told = answer.json() if answer.content and answer.is_success else None
        if method != "GET" and told is not None:
            self.made |= {told[name] for name in ("id", "transfer") if name in told and "status" not in told}
        return told

    def remember(self):
        """The log as anybody may read it: once seen, an entry must never be another or be missing."""
        for entry in self.ask("network", "GET", f"/audit?after={max(self.log, default=0)}&limit=1000"):
            self.log[entry["number"]] = entry["hash"]

    def admit(self, name, role):
        made = self.ask("network", "POST", "/parties", {"name": name, "role": role}, refused=(409,))
        if made is None:  # it was admitted, but nobody heard the answer
            listed = {one["name"]: one["id"] for one in self.ask("network", "GET", "/parties")}
            label = f"again {next(self.labels)}"
            made = {"id": listed[name], **self.ask("network", "POST", f"/parties/{listed[name]}/keys", {"label": label})}
            made["id"] = listed[name]
        self.ids[name], self.keys[name] = made["id"], made["key"]

    def admit_owner(self):
        self.admit("Ann", "owner")

    def admit_clients(self):
        for name in ("c0", "c1", "c2"):
            self.admit(name, "client")

    def describe(self):
        for number, name in enumerate(("c0", "c1", "c2")):
            said = {"ground": GROUND, "member": f"client-{number}", "counts": [60, 0], "reason": "counted"}
            self.ask("network", "POST", f"/parties/{self.ids[name]}/data", said)

    def pay_in(self):
        self.ask("network", "POST", f"/parties/{self.ids['Ann']}/deposits", WORDS)

    def publish(self):
        self.task = self.ask("Ann", "POST", "/tasks", TASK)["id"]

    def open(self):
        self.ask("Ann", "POST", f"/tasks/{self.task}/open", refused=(409,))

    def bid(self):
        for name, price in (("c0", 10), ("c1", 20), ("c2", 30)):
            self.ask(name, "PUT", f"/tasks/{self.task}/bid", {"price": price})

    def rebid(self):
        self.ask("c1", "PUT", f"/tasks/{self.task}/bid", {"price": 15})

    def close(self):
        self.ask("Ann", "POST", f"/tasks/{self.task}/close", refused=(409,))

    def auction(self):
        self.ask("network", "POST", f"/tasks/{self.task}/auction", refused=(409,))

    def train(self):
        self.ask("network", "POST", f"/tasks/{self.task}/train", refused=(409,))

    def settled(self):
        until = time.monotonic() + 60
        while self.ask("Ann", "GET", f"/tasks/{self.task}")["status"] != "settled":
            assert time.monotonic() < until, "the task does not come to its settlement"
            time.sleep(0.01)

    def appeal(self):
        said = {"about": "valuation", "number": self.task, "words": "I hold ninety"}
        self.ask("c2", "POST", "/appeals", said, refused=(409,))

    def ruling(self):
        number = self.ask("network", "GET", "/appeals")[0]["id"]
        said = {"granted": True, "reason": "counted again", "counts": [90, 0]}
        self.ask("network", "POST", f"/appeals/{number}/ruling", said, refused=(409,))

    def take_out(self):
        self.ask("c0", "POST", f"/parties/{self.ids['c0']}/withdrawals", {"amount": 5, "key": "out"})

    def another_key(self):
        self.spare = self.ask("Ann", "POST", f"/parties/{self.ids['Ann']}/keys", {"label": "laptop"})["id"]

    def revoke(self):
        self.ask("Ann", "DELETE", f"/keys/{self.spare}")

    def check(self, url):
        """What was acknowledged is there, word for word, and everything holds."""
        store = Store(url)
        with store.read() as connection:
            if connection.execute(select(rules)).first() is None:
                assert not self.acknowledged and audit_log.head_of(connection).number == 0, "founded by half"
                return
            hashes = dict(connection.execute(log_table.select().with_only_columns(log_table.c.number, log_table.c.hash)).all())
            assert list(verify.problems(connection)) == []
            assert audit_log.head_of(connection).number == max(hashes, default=0)
            path = (
                [step["status"] for step in verify.lifecycle.path(connection, self.task)]
                if "publish" in self.acknowledged
                else []
            )
            held = verify.books.balances(connection)
        store.close()
        assert self.made <= set(hashes), "what was acknowledged is lost"
        assert {number: hashes.get(number) for number in self.log} == self.log
        for step, status in STATUSES.items():
            assert step not in self.acknowledged or status in path, f"{step} was acknowledged and is lost"
        assert sum(held.values()) == 0
        if "pay_in" in self.acknowledged:
            assert held["outside"] in (-500, -495)

    def check_end(self, url):
        """However often it was killed on the way, everybody has what the story comes to."""
        self.check(url)
        store = Store(url)
        with store.read() as connection:
            held = verify.books.balances(connection)
        store.close()
        names = {f"party:{number}": name for name, number in self.ids.items()}
        has = {names.get(account, account.partition(":")[0]): amount for account, amount in held.items()}
        assert has == {"outside": -495, "Ann": 500 - 60 - 3, "c0": 25, "c1": 30, "network": 3, "escrow": 0}


def told(url, where, plant=nothing):
    """Tells the story until the service dies at a place, looks at what is left, and tells it to its end."""
    story, killed = Story(), False
    try:
        with served(url, where, plant) as (web, key, _):
            story.tell(web, key)
    except Killed:
        killed = True
    story.check(url)
    with served(url) as (web, key, _):
        story.tell(web, key)
    story.check_end(url)
    return killed


@pytest.mark.parametrize("where", places("sqlite"))
def test_killed_on_sqlite(tmp_path, where):
    assert told(f"sqlite:///{tmp_path / 'market.db'}", where), f"nobody passed {where}"


@pytest.mark.parametrize("where", places("postgresql"))
def test_killed_on_postgresql(postgres, where):
    from tests.service.conftest import new_database

    assert told(new_database(postgres), where), f"nobody passed {where}"


@pytest.mark.parametrize("plant, where", [(answers_early, "lane/before commit:9"), (writes_by_halves, "entries/before")])
def test_planted_defects_are_found(tmp_path, plant, where):
    with pytest.raises(AssertionError):
        told(f"sqlite:///{tmp_path / 'market.db'}", where, plant)


def test_bids_that_were_acknowledged_outlive_kills_at_any_moment(url):
    """Four clients bid again and again; the service is killed from outside, at once, wherever it is."""
    story, sent = Story(), {}
    with served(url) as (web, key, _):
        story.tell_until(web, key, "open")
    dice = random.Random(url.partition(":")[0])
    prices = count()

    def bid(address, name):
        headers = {"Authorization": f"Bearer {story.keys[name]}"}
        with httpx.Client(base_url=address, timeout=60, headers=headers) as web:
            while True:
                price = next(prices) % 50
                try:
                    answer = web.put(f"/api/tasks/{story.task}/bid", json={"price": price})
                except httpx.TransportError:
                    return
                assert answer.status_code == 200, answer.text
                sent[answer.json()["id"]] = (story.ids[name], price)

    for _ in range(KILLS):
        before = len(sent)
        with ThreadPoolExecutor(3) as pool, served(url) as (web, _, process):
            bidders = [pool.submit(bid, str(web.base_url), name) for name in ("c0", "c1", "c2")]
            while len(sent) < before + 5:
                time.sleep(0.005)
            time.sleep(dice.uniform(0, 0.2))
            os.kill(process.pid, signal.SIGKILL)
            for bidder in bidders:
                bidder.result()
        store = Store(url)
        with store.read() as connection:
            there = {row.id: (row.party, row.price) for row in connection.execute(select(bids))}
            assert list(verify.problems(connection)) == []
        store.close()
        assert {number: there.get(number) for number in sent} == sent


def test_there_are_thirty_places_at_least():
    assert len(POINTS) >= 30
