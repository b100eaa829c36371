"""Money as a state machine over the service, on both databases: what parties have must be what a plain count says.

Each example begins at the same small market. COTERIE_MONEY_OPERATIONS says how many operations each database carries out:
a few hundred unless said otherwise, 100,000 in `make test-market`.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test
from sqlalchemy import Connection, delete, func, insert, select, text
from sqlalchemy.exc import IntegrityError

from coterie.market import settlement
from coterie.market.ledger import LedgerError, Transfer
from coterie.service import auctioning, bidding, books, lifecycle, parties, verify
from coterie.service.lifecycle import NEXT
from coterie.service.refusals import Conflict, Refused
from coterie.service.tables import audit_log, entries, metadata, transfers
from tests.service.small import Small, small, terms

OPERATIONS = int(os.environ.get("COTERIE_MONEY_OPERATIONS", "250"))
STEPS = 50 if OPERATIONS > 10_000 else 20
COMMISSION = 500
MONEY = 1000
"""What the owner has to begin with."""
amounts = st.integers(1, 300)
prices = st.integers(0, 55)
KINDS = st.tuples(*[st.sampled_from(["honest", "honest", "dishonest", "missed"])] * 3)


@dataclass
class Bench:
    """A market that can be put back to how it was founded, so that every example begins alike."""

    market: Small
    rows: dict = field(default_factory=dict)
    done: int = 0
    """Operations carried out, over all examples."""

    @classmethod
    def of(cls, store):
        found = small(store, money=MONEY)
        with store.read() as connection:
            return cls(found, {table: [*connection.execute(select(table)).mappings()] for table in metadata.sorted_tables})

    def put_back(self):
        engine = self.market.store.engine
        with engine.connect().execution_options(writes=True) as connection, connection.begin():
            if engine.dialect.name == "postgresql":
                connection.execute(text(f"TRUNCATE {', '.join(table.name for table in metadata.sorted_tables)}"))
            for table, rows in self.rows.items():
                if engine.dialect.name == "sqlite":
                    connection.execute(delete(table))
                if rows:
                    connection.execute(insert(table), [dict(row) for row in rows])


@dataclass
class Job:
    """What the test knows of a task."""

    cap: int
    status: str = "draft"
    escrow: int = 0
    bids: dict = field(default_factory=dict)
    owed: dict = field(default_factory=dict)
    """What winners are to be paid, by party, as the auction said."""
    came: set = field(default_factory=set)
    """Winners of whom an honest update arrived."""


class Money(RuleBasedStateMachine):
    """Everybody does everything at any time; what is refused changes nothing, what is done twice is done once."""

    bench: Bench

    @initialize()
    def begin(self):
        self.bench.put_back()
        self.market = self.bench.market
        self.people = {party.id: party for party in (self.market.owner, *self.market.clients)}
        self.has = {**dict.fromkeys(self.people, 0), self.market.owner.id: MONEY}
        self.earned, self.outside = 0, MONEY
        self.jobs, self.keys, self.deposits = {}, count(), []

    def do(self, allowed, who, action, *given):
        """Does something that must be allowed, or refused; says whether it was done, and what it returned."""
        self.bench.done += 1
        try:
            result = self.market.do(who, action, *given)
        except Refused as refused:
            assert not allowed, f"refused: {action.__name__}{given}: {refused.reason}"
            return False, None
        assert allowed, f"allowed: {action.__name__}{given}"
        return True, result

    def job(self, data, *statuses):
        """A task, mostly one that stands where something can come of it."""
        ready = sorted(task for task, job in self.jobs.items() if job.status in statuses)
        anywhere = not ready or data.draw(st.integers(0, 4)) == 4
        return data.draw(st.sampled_from(sorted(self.jobs) if anywhere else ready))

    def person(self, data):
        return data.draw(st.sampled_from(sorted(self.people)))

    @rule(data=st.data(), amount=amounts)
    def pay_in(self, data, amount):
        whom, key = self.person(data), f"in-{next(self.keys)}"
        self.do(True, self.market.network, books.pay_in, whom, amount, key)
        self.deposits.append((whom, amount, key))
        self.has[whom] += amount
        self.outside += amount

    @precondition(lambda self: self.deposits)
    @rule(data=st.data())
    def pay_in_again(self, data):
        self.do(True, self.market.network, books.pay_in, *data.draw(st.sampled_from(self.deposits)))

    @precondition(lambda self: self.deposits)
    @rule(data=st.data(), amount=amounts)
    def use_a_key_for_another_amount(self, data, amount):
        whom, before, key = data.draw(st.sampled_from(self.deposits))
        self.do(amount == before, self.market.network, books.pay_in, whom, amount, key)

    @rule(data=st.data(), amount=amounts)
    def take_out(self, data, amount):
        whom = self.person(data)
        done, _ = self.do(amount <= self.has[whom], self.people[whom], books.take_out, whom, amount, f"out-{next(self.keys)}")
        if done:
            self.has[whom] -= amount
            self.outside -= amount

    @precondition(lambda self: self.earned)
    @rule(data=st.data())
    def the_network_owner_takes_out(self, data):
        amount = data.draw(st.integers(1, self.earned + 1))
        network = self.market.network
        done, _ = self.do(amount <= self.earned, network, books.take_out, network.id, amount, f"out-{next(self.keys)}")
        if done:
            self.earned -= amount
            self.outside -= amount

    @rule(data=st.data(), amount=amounts)
    def break_off_in_the_middle(self, data, amount):
        """Something fails after it has moved money: the money is where it was."""
        whom, key = self.person(data), f"in-{next(self.keys)}"

        def half(write, who):
            books.pay_in(write, who, whom, amount, key)
            raise Conflict("changed my mind")

        self.do(False, self.market.network, half)

    @rule(cap=st.integers(1, 250), partial=st.booleans(), need=st.sampled_from([60, 100, 200]))
    def publish(self, cap, partial, need):
        asked = terms(cap=cap, partial=partial, quotas=[need, 0], budget=120, rounds=1)
        _, task = self.do(True, self.market.owner, lifecycle.publish, asked)
        self.jobs[task] = Job(cap)

    @precondition(lambda self: self.has[self.market.owner.id] >= 250)
    @rule(cap=st.integers(100, 250), asked=st.tuples(prices, prices, prices), hurry=st.integers(0, 5), kinds=KINDS)
    def publish_and_go_on(self, cap, asked, hurry, kinds):
        """A task that gets somewhere: chance alone brings few to their settlement."""
        market, owner = self.market, self.market.owner
        _, task = self.do(True, owner, lifecycle.publish, terms(cap=cap, partial=True, budget=120))
        self.do(True, owner, lifecycle.open_for_bids, task)
        job = self.jobs[task] = Job(cap, "open", cap)
        self.has[owner.id] -= cap
        for client, price in zip(market.clients, asked, strict=True):
            if self.do(price <= 50, client, bidding.bid, task, price)[0]:
                job.bids[client.id] = price
        if hurry:
            self.do(True, owner, lifecycle.close, task)
            job.status = "closed"
        if hurry > 1:
            self.hold_auction(task)
        if hurry > 2 and job.status == "auctioned":
            self.do(True, market.network, lifecycle.begin_training, task)
            job.status = "training"
        if hurry > 3 and job.status == "training":
            self.train_with(task, kinds)
        if hurry > 4 and job.status == "training":
            self.do(True, market.network, lifecycle.settle, task)
            self.pay(job)

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def open_for_bids(self, data):
        task = self.job(data, "draft")
        job, owner = self.jobs[task], self.market.owner
        done, _ = self.do(job.status == "draft" and job.cap <= self.has[owner.id], owner, lifecycle.open_for_bids, task)
        if done:
            job.status, job.escrow = "open", job.cap
            self.has[owner.id] -= job.cap

    @precondition(lambda self: any(job.status == "open" for job in self.jobs.values()))
    @rule(data=st.data(), price=prices)
    def bid(self, data, price):
        task, client = self.job(data, "open"), data.draw(st.sampled_from(self.market.clients))
        job = self.jobs[task]
        if self.do(job.status == "open" and price <= 50, client, bidding.bid, task, price)[0]:
            job.bids[client.id] = price

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def withdraw(self, data):
        task, client = self.job(data, "open"), data.draw(st.sampled_from(self.market.clients))
        job = self.jobs[task]
        if self.do(job.status == "open" and client.id in job.bids, client, bidding.withdraw, task)[0]:
            del job.bids[client.id]

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def close(self, data):
        task = self.job(data, "open")
        if self.do(self.jobs[task].status == "open", self.market.owner, lifecycle.close, task)[0]:
            self.jobs[task].status = "closed"

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def auction(self, data):
        self.hold_auction(self.job(data, "closed"))

    def hold_auction(self, task):
        job = self.jobs[task]
        done, outcome = self.do(job.status == "closed", self.market.network, auctioning.auction, task)
        if not done:
            return
        with self.market.store.read() as connection:
            won = auctioning.cohort(connection, task)
        assert len(won) == outcome["winners"]
        for row in won:
            assert row["payment"] >= row["price"] == job.bids[row["party"]]
        job.owed = {row["party"]: row["payment"] for row in won}
        cost = self.cost(sum(job.owed.values()))
        if outcome["failed"]:
            self.give_back(job, "failed")
        else:
            assert won and cost <= job.escrow
            job.status = "auctioned"

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def begin_training(self, data):
        task = self.job(data, "auctioned")
        job = self.jobs[task]
        if self.do(job.status == "auctioned", self.market.network, lifecycle.begin_training, task)[0]:
            job.status = "training"

    @precondition(lambda self: any(job.status == "training" and not job.came for job in self.jobs.values()))
    @rule(data=st.data(), kinds=KINDS)
    def train(self, data, kinds):
        ready = [task for task, job in self.jobs.items() if job.status == "training" and not job.came]
        self.train_with(data.draw(st.sampled_from(ready)), kinds)

    def train_with(self, task, kinds):
        job = self.jobs[task]
        judged = dict(zip(sorted(job.owed), kinds, strict=False))
        job.came = {party for party, kind in judged.items() if kind == "honest"} | {0}
        row = {"round": 1, "asked": 2, "answered": 2, "used": 2, "accuracy": 0.5, "loss": 1.0}
        self.bench.done += 1
        seen = {party: (kind, "seen") for party, kind in judged.items()}
        assert self.market.store.write(0, lifecycle.round_over, task, row, seen)

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def settle(self, data):
        task = self.job(data, "training")
        job = self.jobs[task]
        done, _ = self.do(job.status == "training" and bool(job.came), self.market.network, lifecycle.settle, task)
        if done:
            self.pay(job)

    @precondition(lambda self: any(job.status == "training" and job.came for job in self.jobs.values()))
    @rule(data=st.data())
    def settle_and_cancel_at_once(self, data):
        """Four at once, of which one comes first; whichever it is, the escrow goes one way only."""
        ready = [task for task, job in self.jobs.items() if job.status == "training" and job.came]
        task = data.draw(st.sampled_from(sorted(ready)))
        job = self.jobs[task]

        def attempt(cancels):
            try:
                given = (lifecycle.cancel, task, "no more") if cancels else (lifecycle.settle, task)
                self.market.do(self.market.network, *given)
            except Refused:
                return False
            return True

        ways = data.draw(st.permutations([False, False, True, True]))
        with ThreadPoolExecutor(4) as pool:
            done = [*pool.map(attempt, ways)]
        self.bench.done += 4
        assert sum(done) == 1, f"{sum(done)} of four came through"
        if ways[done.index(True)]:
            self.give_back(job, "cancelled")
        else:
            self.pay(job)

    @precondition(lambda self: self.jobs)
    @rule(data=st.data(), by_owner=st.booleans())
    def cancel(self, data, by_owner):
        task = self.job(data, "settled", "cancelled", "training")
        job = self.jobs[task]
        may = "cancelled" in NEXT[job.status] and (not by_owner or job.status in lifecycle.BY_OWNER)
        who = self.market.owner if by_owner else self.market.network
        if self.do(may, who, lifecycle.cancel, task, "no more")[0]:
            self.give_back(job, "cancelled")

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def fail(self, data):
        task = self.job(data, "settled", "failed", "auctioned")
        job = self.jobs[task]
        if self.do("failed" in NEXT[job.status], self.market.network, lifecycle.fail, task, "the ground is flooded")[0]:
            self.give_back(job, "failed")

    def give_back(self, job, status):
        self.has[self.market.owner.id] += job.escrow
        job.escrow, job.status = 0, status

    @staticmethod
    def cost(paid):
        return paid + paid * COMMISSION // 10_000

    def pay(self, job):
        due = {party: amount for party, amount in job.owed.items() if party in job.came}
        paid = sum(due.values())
        assert self.cost(paid) <= job.escrow
        for party, amount in due.items():
            self.has[party] += amount
        self.earned += self.cost(paid) - paid
        self.has[self.market.owner.id] += job.escrow - self.cost(paid)
        job.escrow, job.status = 0, "settled"

    @invariant()
    def money_is_where_it_should_be(self):
        with self.market.store.read() as connection:
            held = books.balances(connection)
            worked_out = replayed(connection)
            assert sum(held.values()) == 0
            assert held == worked_out, "balances are what all entries ever made come to"
            expected = {f"party:{party}": amount for party, amount in self.has.items()}
            expected |= {f"escrow:{task}": job.escrow for task, job in self.jobs.items()}
            expected |= {"network": self.earned, "outside": -self.outside}
            assert {account: amount for account, amount in held.items() if amount} == {
                account: amount for account, amount in expected.items() if amount
            }
            statuses = {task.id: task.status for task in lifecycle.listed(connection)}
            assert statuses == {task: job.status for task, job in self.jobs.items()}

    def teardown(self):
        if hasattr(self, "market"):
            assert self.market.problems() == []


def replayed(connection: Connection) -> dict[str, int]:
    """What each account holds, from nothing but the amounts of all entries."""
    rows = connection.execute(select(entries.c.account, func.sum(entries.c.amount)).group_by(entries.c.account))
    return {account: int(amount) for account, amount in rows}


CHECK = {
    "derandomize": True,
    "database": None,
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "report_multiple_bugs": False,
    "stateful_step_count": STEPS,
}


def run(bench, **how):
    made = type("OnThisDatabase", (Money,), {"bench": bench})
    run_state_machine_as_test(made, settings=settings(**{**CHECK, **how}))


def test_money_is_never_lost_made_or_paid_twice(store):
    bench = Bench.of(store)
    phases = [Phase.generate] if OPERATIONS > 10_000 else [Phase.generate, Phase.shrink]
    while bench.done < OPERATIONS:  # Hypothesis ends an example early where it likes
        before = bench.done
        run(bench, max_examples=max(5, (OPERATIONS - bench.done) // STEPS), phases=phases, derandomize=before == 0)
    print(f"{bench.done} operations on {store.engine.dialect.name}, money where it should be after each")


def key_is_forgotten(monkeypatch):
    """A transfer that is tried again is made again."""
    again, made = count(), books.post
    monkeypatch.setattr(
        books, "post", lambda write, one: made(write, Transfer(f"{one.key}#{next(again)}", one.entries, one.reason))
    )


def rest_is_kept(monkeypatch):
    """What is left of the escrow goes to the network owner."""

    def settle(task, owner, held, payments, points):
        paid = sum(payments.values())
        moved = {settlement.escrow(task): -held, settlement.NETWORK: held - paid}
        for name, amount in payments.items():
            moved[settlement.party(name)] = amount
        return Transfer(f"settlement/{task}", {account: amount for account, amount in moved.items() if amount}, "kept")

    monkeypatch.setattr(settlement, "settle", settle)


def bids_are_paid_less_one(monkeypatch):
    """Winners get one unit less than the auction said."""
    real = settlement.settle
    monkeypatch.setattr(
        settlement, "settle", lambda t, o, h, paid, points: real(t, o, h, {n: max(a - 1, 0) for n, a in paid.items()}, points)
    )


def everybody_is_paid(monkeypatch):
    """Winners that never trained are paid too."""
    real = lifecycle.standing.history

    class Came(dict):
        def items(self):
            return [(party, [type("Row", (), {"kind": "honest"})]) for party in self]

    monkeypatch.setattr(lifecycle.standing, "history", lambda *given, **named: Came(real(*given, **named)))


def steps_are_not_checked(monkeypatch):
    """A task may go from anywhere to anywhere."""
    monkeypatch.setattr(lifecycle, "_check_move", lambda task, status: None)


def half_a_write_stays(monkeypatch):
    """What a write did before it failed is not undone."""
    monkeypatch.setattr(Connection, "begin_nested", lambda connection: nullcontext())


def payments_below_bids(monkeypatch):
    """The auction promises a winner half of what it asked."""
    real = auctioning._rows

    def rows(award, why):
        return [{**row, "payment": row["payment"] // 2} for row in real(award, why)]

    monkeypatch.setattr(auctioning, "_rows", rows)


def escrow_is_short(monkeypatch):
    """Half of the cap is put aside."""
    real = settlement.open_escrow
    monkeypatch.setattr(settlement, "open_escrow", lambda task, owner, amount: real(task, owner, -(-amount // 2)))


def accounts_may_be_overdrawn(monkeypatch):
    """An account gives what it does not have, and the database does not look either."""
    monkeypatch.setattr(
        books,
        "apply",
        lambda balances, one: {account: balances.get(account, 0) + gain for account, gain in one.entries.items()},
    )


@pytest.mark.parametrize(
    "defect",
    [
        key_is_forgotten, rest_is_kept, bids_are_paid_less_one, everybody_is_paid, steps_are_not_checked, half_a_write_stays,
        payments_below_bids, escrow_is_short, accounts_may_be_overdrawn,
    ],
)  # fmt: skip
def test_the_machine_finds_planted_defects(light, monkeypatch, defect):
    bench = Bench.of(light)
    defect(monkeypatch)
    with pytest.raises((AssertionError, LedgerError, IntegrityError)):
        run(bench, max_examples=400, phases=[Phase.generate])


def test_the_market_is_put_back_as_it_was(light):
    bench = Bench.of(light)
    bench.market.do(bench.market.network, books.pay_in, bench.market.owner.id, 5, "five")
    bench.put_back()
    with light.read() as connection:
        assert connection.execute(select(func.count()).select_from(transfers)).scalar_one() == 1
        assert connection.execute(select(func.count()).select_from(audit_log)).scalar_one() > 10
        assert parties.rules_of(connection).commission == COMMISSION
        assert list(verify.problems(connection)) == []
