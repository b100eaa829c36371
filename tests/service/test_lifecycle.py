import pytest

from coterie.service import auctioning, bidding, books, lifecycle, standing
from coterie.service.lifecycle import NEXT
from coterie.service.refusals import Conflict, NotAllowed, NotThere, Refused, Unfit
from tests.service.small import small, terms


def test_a_task_from_draft_to_settlement_on_both_databases(store):
    market = small(store)
    task = market.settled()
    with store.read() as connection:
        assert [step["status"] for step in lifecycle.path(connection, task)] == [
            "draft", "open", "closed", "auctioned", "training", "settled",
        ]  # fmt: skip
        held = books.balances(connection)
    first, second, third = market.clients
    assert held[f"party:{first.id}"] == held[f"party:{second.id}"] == 30
    assert f"party:{third.id}" not in held
    assert held["network"] == 60 * 500 // 10_000
    assert held[f"party:{market.owner.id}"] == 1000 - 60 - 3
    assert held["outside"] == -1000
    assert sum(held.values()) == 0
    assert market.problems() == []


def test_escrow_holds_the_worst_case_or_the_cap(light):
    market = small(light, money=20_000)
    task = market.opened(cap=None, places=5)
    assert market.balance(f"escrow:{task}") == 5 * 50 + 12
    assert market.balance(f"escrow:{market.opened(cap=199)}") == 199
    shared = market.opened(cap=None, mechanism="proportional-share")
    assert market.balance(f"escrow:{shared}") == 70 + 3


def test_a_task_that_its_owner_cannot_pay_for_does_not_open(light):
    market = small(light, money=100)
    task = market.publish()
    with pytest.raises(Conflict, match="has 100 and cannot give 200"):
        market.do(market.owner, lifecycle.open_for_bids, task)
    assert market.status(task) == "draft"
    assert market.problems() == []


@pytest.mark.parametrize("at", ["draft", "open", "closed", "auctioned", "training"])
def test_a_task_can_be_cancelled_at_any_step_and_all_money_is_back(light, at):
    market = small(light)
    task = {"draft": market.publish, "open": market.opened, "auctioned": market.auctioned, "training": market.trained}.get(
        at, market.opened
    )()
    if at == "closed":
        market.do(market.owner, lifecycle.close, task)
    if at in ("auctioned", "training"):
        with pytest.raises(Conflict, match="only the network owner can cancel"):
            market.do(market.owner, lifecycle.cancel, task, "changed my mind")
        market.do(market.network, lifecycle.cancel, task, "the ground is flooded")
    else:
        market.do(market.owner, lifecycle.cancel, task, "changed my mind")
    assert market.status(task) == "cancelled"
    assert market.balance(f"party:{market.owner.id}") == 1000
    assert market.balance(f"escrow:{task}") == 0
    assert market.problems() == []


def test_every_step_is_refused_where_it_does_not_follow(light):
    market = small(light)
    steps = {
        "open": lambda task: market.do(market.owner, lifecycle.open_for_bids, task),
        "closed": lambda task: market.do(market.owner, lifecycle.close, task),
        "auctioned": lambda task: market.do(market.network, auctioning.auction, task),
        "training": lambda task: market.do(market.network, lifecycle.begin_training, task),
        "settled": lambda task: market.do(market.network, lifecycle.settle, task),
        "failed": lambda task: market.do(market.network, lifecycle.fail, task, "why"),
    }
    made = {"draft": market.publish(), "open": market.opened(), "auctioned": market.auctioned(), "settled": market.settled()}
    before = market.problems()
    for status, task in made.items():
        for step, take in steps.items():
            if step not in NEXT[status]:
                with pytest.raises(Refused):
                    take(task)
                assert market.status(task) == status
    assert before == market.problems() == []


def test_quotas_that_stay_unmet_fail_the_task_unless_its_owner_takes_part_of_them(light):
    market = small(light, money=5000)
    task = market.auctioned(quotas=[1000, 0])
    assert market.status(task) == "failed"
    assert market.balance(f"escrow:{task}") == 0
    with light.read() as connection:
        assert lifecycle.path(connection, task)[-1]["reason"] == "quotas stay unmet: 820 of class 0 are missing"
    assert market.status(market.auctioned(quotas=[1000, 0], budget=None, partial=True)) == "auctioned"
    assert market.status(market.auctioned(prices=())) == "failed"


def test_payments_above_the_cap_fail_the_task(light):
    market = small(light)
    task = market.auctioned(cap=62)
    assert market.status(task) == "failed"
    with light.read() as connection:
        assert "above the cap of 62" in lifecycle.path(connection, task)[-1]["reason"]
    assert market.status(market.auctioned(cap=63)) == "auctioned"
    assert market.problems() == []


@pytest.mark.parametrize("kind", ["missed", "dishonest"])
def test_who_never_sent_an_honest_update_is_not_paid(light, kind):
    market = small(light)
    task = market.trained(kinds=[kind])
    market.do(market.network, lifecycle.settle, task)
    first, second, _ = market.clients
    assert (market.balance(f"party:{first.id}"), market.balance(f"party:{second.id}")) == (0, 30)
    assert market.balance(f"party:{market.owner.id}") == 1000 - 30 - 1
    assert market.problems() == []


def test_conduct_becomes_reputation(light):
    market = small(light)
    market.settled(kinds=["honest", "dishonest"])
    market.settled(prices=(10, 30, 20), kinds=["honest", "honest"])
    with light.read() as connection:
        now = standing.reputations(connection, light.clock())
    values = [round(now[client.id], 3) for client in market.clients]
    assert values == [0.04, 0.0, 0.02]


def test_a_round_is_written_once(light):
    market = small(light)
    task = market.trained(rounds=2)
    row = {"round": 1, "asked": 2, "answered": 2, "used": 2, "accuracy": 0.5, "loss": 1.0}
    assert light.write(0, lifecycle.round_over, task, row, {}) is False
    with pytest.raises(Conflict, match="1 of 2 rounds"):
        market.do(market.network, lifecycle.settle, task)
    assert light.write(0, lifecycle.round_over, task, {**row, "round": 2}, {}) is True


def test_a_draft_is_its_owners_own(light):
    market = small(light)
    task = market.publish()
    with light.read() as connection:
        with pytest.raises(NotThere):
            lifecycle.seen(connection, market.clients[0], task)
        assert lifecycle.seen(connection, market.owner, task).status == "draft"
        assert lifecycle.visible(connection, market.clients[0]) == []
    with pytest.raises(NotAllowed):
        market.do(market.network, lifecycle.open_for_bids, task)


def test_bids_are_sealed_replaced_withdrawn_and_limited(light):
    market = small(light)
    task = market.opened(places=2)
    first, second, third = market.clients
    one = market.do(first, bidding.bid, task, 10)
    assert market.do(first, bidding.bid, task, 10) == one
    market.do(first, bidding.bid, task, 12)
    market.do(second, bidding.bid, task, 20)
    with pytest.raises(Conflict, match="all 2 places"):
        market.do(third, bidding.bid, task, 5)
    with pytest.raises(Conflict, match="more than 50"):
        market.do(second, bidding.bid, task, 51)
    with light.read() as connection, pytest.raises(Conflict, match="sealed"):
        bidding.revealed(connection, market.network, task)
    market.do(second, bidding.withdraw, task)
    market.do(market.owner, lifecycle.close, task)
    with light.read() as connection:
        assert [(row.party, row.price) for row in bidding.revealed(connection, market.network, task)] == [(first.id, 12)]
        for other in (market.owner, first):
            with pytest.raises(NotAllowed):
                bidding.revealed(connection, other, task)
    with pytest.raises(Conflict, match="not open"):
        market.do(first, bidding.bid, task, 9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quotas": []}, "quotas"),
        ({"quotas": [0, 0]}, "quotas"),
        ({"weights": [1.0]}, "weights"),
        ({"weights": [1.0, float("nan")]}, "weight"),
        ({"reserve_price": 0}, "reserve_price"),
        ({"budget": None, "mechanism": "proportional-share"}, "budget"),
        ({"mechanism": "first-price"}, "mechanism"),
        ({"price_weight": 0}, "price_weight"),
        ({"rounds": 0}, "rounds"),
    ],
)
def test_terms_that_cannot_be_meant_are_refused(changes, message):
    with pytest.raises(Unfit, match=message):
        terms(**changes)


def test_bidding_ends_at_its_time(light):
    now = [1000.0]
    light.clock = lambda: now[0]
    market = small(light)
    task = market.opened(closes_at=1060.0)
    market.do(market.clients[0], bidding.bid, task, 10)
    now[0] = 1060.0
    with pytest.raises(Conflict, match="is over"):
        market.do(market.clients[1], bidding.bid, task, 10)


def test_time_never_runs_backwards(light):
    now = [1000.0]
    light.clock = lambda: now[0]
    market = small(light)
    now[0] = 500.0
    market.settled()
    assert market.problems() == []
