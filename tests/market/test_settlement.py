import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.market import Task, clear, settlement
from coterie.market.ledger import LedgerError
from tests.market.markets import bids_of, markets, scale_of, task_of


@given(markets(), st.sampled_from([0, 250, 10_000]))
def test_escrow_for_the_worst_case_pays_for_any_auction(market, points):
    task, bids = task_of(market), bids_of(market)
    award = clear(task, bids, scale=scale_of(market))
    held = settlement.worst_case(task, len(bids), points)
    payments = {f"client-{i}": paid for i, paid in zip(award.winners.tolist(), award.payments.tolist(), strict=True)}
    transfer = settlement.settle("t", "owner", held, payments, points)
    assert sum(transfer.entries.values()) == 0 and transfer.entries[settlement.escrow("t")] == -held
    fee = award.paid * points // 10_000
    assert transfer.entries.get(settlement.party("owner"), 0) == held - award.paid - fee
    assert transfer.entries.get(settlement.NETWORK, 0) == fee


def test_an_owner_who_also_sells_gets_both_amounts():
    transfer = settlement.settle("t", "ann", 100, {"ann": 40, "bob": 10})
    assert dict(transfer.entries) == {"escrow:t": -100, "party:ann": 90, "party:bob": 10}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: settlement.settle("t", "ann", 49, {"bob": 50}),
            "payments of 50 and a commission of 0 exceed the escrow of 49",
        ),
        (lambda: settlement.settle("t", "ann", 50, {"bob": 50}, 200), "a commission of 1 exceed"),
        (lambda: settlement.settle("t", "ann", 50, {"bob": -1}), "payment to bob must be whole minor units from 0, not -1"),
        (lambda: settlement.settle("t", "ann", 50, {"bob": 1.5}), "payment to bob"),
        (lambda: settlement.settle("t", "ann", 50, {"bob": True}), "payment to bob"),
        (lambda: settlement.commission_on(10, 10_001), "10001 basis points"),
        (lambda: settlement.deposit("k", "ann", 0), "amount must be whole minor units above 0"),
        (lambda: settlement.withdrawal("k", "ann", -5), "above 0, not -5"),
        (lambda: settlement.worst_case(Task(quotas=[1], reserve_price=1.5), 3), "whole minor units"),
    ],
)
def test_bad_amounts_are_refused(make, says):
    with pytest.raises(LedgerError, match=says):
        make()
