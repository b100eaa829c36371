from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from coterie.market import ledger as ledgers
from coterie.market import settlement
from coterie.market.ledger import OUTSIDE, Ledger, LedgerError, Transfer, replay

PARTIES = ["ann", "bob", "eve"]
amounts = st.integers(1, 60)
parties = st.sampled_from(PARTIES)


@dataclass(frozen=True)
class Rules:
    """What the machine drives; a planted defect replaces one of them."""

    post: object = Ledger.post
    settle: object = settlement.settle
    cancel: object = settlement.cancel


class Money(RuleBasedStateMachine):
    """Parties pay in and out, tasks open, settle and are cancelled, and everything may be tried twice."""

    drives = Rules()

    @initialize()
    def begin(self):
        self.ledger, self.made, self.tasks = Ledger(), [], {}
        self.has = dict.fromkeys([*PARTIES, "network"], 0)

    def post(self, transfer, allowed):
        before = self.ledger
        try:
            self.ledger = self.drives.post(before, transfer)
        except LedgerError:
            assert not allowed, f"refused: {transfer}"
            assert self.ledger is before
            return
        assert allowed, f"allowed: {transfer}"
        self.made.append(transfer)

    @rule(name=parties, amount=amounts)
    def pay_in(self, name, amount):
        self.post(settlement.deposit(f"in/{len(self.made)}", name, amount), allowed=True)
        self.has[name] += amount

    @rule(name=parties, amount=amounts)
    def take_out(self, name, amount):
        allowed = amount <= self.has[name]
        self.post(settlement.withdrawal(f"out/{len(self.made)}", name, amount), allowed)
        self.has[name] -= amount * allowed

    @rule(owner=parties, amount=amounts)
    def open_task(self, owner, amount):
        task, allowed = f"t{len(self.tasks)}", amount <= self.has[owner]
        self.post(settlement.open_escrow(task, owner, amount), allowed)
        if allowed:
            self.has[owner] -= amount
            self.tasks[task] = (owner, amount)

    @rule(data=st.data(), points=st.sampled_from([0, 333, 1000]))
    def settle_task(self, data, points):
        if not self.tasks:
            return
        task = data.draw(st.sampled_from(sorted(self.tasks)))
        owner, held = self.tasks[task]
        payments = data.draw(st.dictionaries(parties, st.integers(0, 15), max_size=3))
        fee = sum(payments.values()) * points // 10_000
        key = f"settlement/{task}"
        try:
            transfer = self.drives.settle(task, owner, held, payments, points)
        except LedgerError:
            assert sum(payments.values()) + fee > held
            return
        assert sum(payments.values()) + fee <= held
        fresh = key not in self.ledger.transfers
        self.post(transfer, allowed=fresh or self.ledger.transfers[key] == transfer)
        if fresh:
            for name, amount in payments.items():
                self.has[name] += amount
            self.has["network"] += fee
            self.has[owner] += held - fee - sum(payments.values())

    @rule(data=st.data())
    def cancel_task(self, data):
        if not self.tasks:
            return
        task = data.draw(st.sampled_from(sorted(self.tasks)))
        owner, held = self.tasks[task]
        transfer = self.drives.cancel(task, owner, held)
        known = self.ledger.transfers.get(f"settlement/{task}")
        self.post(transfer, allowed=known in (None, transfer))
        if known is None:
            self.has[owner] += held

    @rule(data=st.data())
    def try_again(self, data):
        if self.made:
            self.post(data.draw(st.sampled_from(self.made)), allowed=True)

    @rule(data=st.data(), amount=amounts)
    def use_a_key_for_something_else(self, data, amount):
        if self.made:
            key = data.draw(st.sampled_from(self.made)).key
            self.post(Transfer(key, {OUTSIDE: -amount, "party:eve": amount}, "not the same"), allowed=False)

    @invariant()
    def money_is_where_it_should_be(self):
        self.ledger.check()
        under_way = [held for task, (_, held) in self.tasks.items() if f"settlement/{task}" not in self.ledger.transfers]
        for name, amount in self.has.items():
            account = settlement.NETWORK if name == "network" else settlement.party(name)
            assert self.ledger.balance(account) == amount >= 0
        assert -self.ledger.balance(OUTSIDE) == sum(self.has.values()) + sum(under_way)


CHECK = {
    "derandomize": True,
    "database": None,
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "report_multiple_bugs": False,
}


def test_money_is_never_lost_made_or_paid_twice():
    run_state_machine_as_test(Money, settings=settings(max_examples=60, stateful_step_count=40, **CHECK))


def posts_again(ledger, transfer):
    if transfer.key in ledger.transfers:
        return Ledger(ledger.transfers, {**ledger.balances, **ledgers.apply(ledger.balances, transfer)})
    return Ledger.post(ledger, transfer)


def lets_overdraw(ledger, transfer):
    known = ledger.transfers.get(transfer.key)
    if known is not None:
        return Ledger.post(ledger, transfer)
    after = {account: ledger.balance(account) + amount for account, amount in transfer.entries.items()}
    return Ledger({**ledger.transfers, transfer.key: transfer}, {**ledger.balances, **after})


def forgets_earlier_keys(ledger, transfer):
    fresh = Ledger({}, ledger.balances).post(transfer)
    return Ledger({**ledger.transfers, transfer.key: transfer}, fresh.balances)


def keeps_the_rest(task, owner, held, payments, points):
    paid = sum(payments.values())
    fee = settlement.commission_on(paid, points)
    if paid + fee > held:
        raise LedgerError("too much")
    return settlement.settle(task, "network-friend", held, payments, points)


def rounds_the_commission_up(task, owner, held, payments, points):
    whole = settlement.settle(task, owner, held, payments, points)
    paid = sum(payments.values())
    if paid * points % 10_000 == 0 or whole.entries.get(settlement.party(owner), 0) <= 1:
        return whole
    entries = dict(whole.entries)
    entries[settlement.party(owner)] -= 1
    entries[settlement.NETWORK] = entries.get(settlement.NETWORK, 0) + 1
    return Transfer(whole.key, entries, whole.reason)


def cancels_under_another_key(task, owner, held):
    entries = settlement.cancel(task, owner, held).entries
    return Transfer(f"cancellation/{task}", entries, f"cancellation of task {task}")


@pytest.mark.parametrize(
    "defect",
    [
        Rules(post=posts_again),
        Rules(post=lets_overdraw),
        Rules(post=forgets_earlier_keys),
        Rules(settle=keeps_the_rest),
        Rules(settle=rounds_the_commission_up),
        Rules(cancel=cancels_under_another_key),
    ],
    ids=lambda defect: next(v.__name__ for v in vars(defect).values() if v.__module__ == __name__),
)
def test_the_machine_finds_planted_defects(defect):
    broken = type("Broken", (Money,), {"drives": defect})
    with pytest.raises((AssertionError, LedgerError, KeyError)):
        run_state_machine_as_test(broken, settings=settings(max_examples=200, phases=[Phase.generate], **CHECK))


def test_a_balance_that_no_transfer_explains_is_found():
    good = Ledger().post(settlement.deposit("a", "ann", 5))
    with pytest.raises(LedgerError, match="not what the transfers make them"):
        Ledger(good.transfers, {**good.balances, "party:ann": 6}).check()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Transfer("", {"a": -1, "b": 1}, "x"), "a key and a reason"),
        (lambda: Transfer("k", {"a": -1, "b": 1}, ""), "a key and a reason"),
        (lambda: Transfer("k", {"a": -1.0, "b": 1.0}, "x"), "no whole amount"),
        (lambda: Transfer("k", {"a": True, "b": -1}, "x"), "no whole amount"),
        (lambda: Transfer("k", {"a": 0}, "x"), "no whole amount"),
        (lambda: Transfer("k", {"a": -2, "b": 1}, "x"), "sum to -1"),
        (lambda: Ledger().post(Transfer("k", {"a": -2, "b": 2}, "x")), "'a' has 0 and cannot give 2"),
        (lambda: replay([settlement.deposit("k", "ann", 1)] * 2), "made twice"),
    ],
)
def test_bad_transfers_are_refused(make, says):
    with pytest.raises(LedgerError, match=says):
        make()


def test_entries_cannot_be_changed_afterwards():
    with pytest.raises(TypeError):
        settlement.deposit("k", "ann", 1).entries["party:ann"] = 2
