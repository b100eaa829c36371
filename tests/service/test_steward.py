import pytest

from coterie.service import auctioning, bidding, lifecycle, standing
from coterie.service.steward import Steward
from coterie.testing.toy import Chances, Toy
from tests.service.small import small


def steward(store, chances=None, **how):
    return Steward(store, lambda settings: Toy(clients=3, chances=chances or Chances()), **how)


def test_a_closed_task_is_auctioned_trained_and_settled(light):
    market = small(light)
    task = market.opened(rounds=3)
    for client, price in zip(market.clients, (10, 20, 30), strict=True):
        market.do(client, bidding.bid, task, price)
    steward(light).once()
    assert market.status(task) == "open"
    market.do(market.owner, lifecycle.close, task)
    steward(light, automatic=False).once()
    assert market.status(task) == "closed"
    steward(light).once()
    assert market.status(task) == "settled"
    with light.read() as connection:
        events = standing.history(connection, task=task)
        winners = [row["party"] for row in auctioning.cohort(connection, task)]
    assert sorted(events) == sorted(winners)
    assert all([event.round for event in rows] == [1, 2, 3] for rows in events.values())
    assert market.problems() == []


def test_bidding_is_closed_at_its_time(light):
    now = [1000.0]
    light.clock = lambda: now[0]
    market = small(light)
    task = market.opened(closes_at=1060.0)
    steward(light, automatic=False).once()
    assert market.status(task) == "open"
    now[0] = 1060.0
    steward(light, automatic=False).once()
    assert market.status(task) == "closed"


def test_training_that_was_cut_off_goes_on_and_writes_no_round_twice(light):
    market = small(light)
    task = market.auctioned(rounds=3)
    market.do(market.network, lifecycle.begin_training, task)
    write, written = light.write, []

    def cut_after_two(actor, action, *given, **named):
        if action is lifecycle.round_over:
            written.append(action)
            if len(written) == 3:
                raise SystemExit  # as abrupt as a thread can end
        return write(actor, action, *given, **named)

    light.write = cut_after_two
    with pytest.raises(SystemExit):
        steward(light).once()
    light.write = write
    assert market.status(task) == "training"
    steward(light).once()
    assert market.status(task) == "settled"
    assert market.problems() == []


def test_clients_who_do_not_answer_are_idle_and_not_penalized(light):
    market = small(light)
    task = market.auctioned(rounds=4)
    market.do(market.network, lifecycle.begin_training, task)
    steward(light, Chances(present=0.5, replying=0.5, sound=0.7)).once()
    with light.read() as connection:
        kinds = {event.kind for rows in standing.history(connection, task=task).values() for event in rows}
    assert kinds == {"honest", "missed"}
    assert market.problems() == []


def test_a_ground_that_fails_fails_the_task_and_the_money_is_back(light):
    def flooded(settings):
        raise RuntimeError("the ground is flooded")

    market = small(light)
    task = market.auctioned()
    market.do(market.network, lifecycle.begin_training, task)
    Steward(light, flooded).once()
    assert market.status(task) == "failed"
    assert market.balance(f"party:{market.owner.id}") == 1000
    with light.read() as connection:
        assert "the ground is flooded" in lifecycle.path(connection, task)[-1]["reason"]


def test_a_task_that_is_cancelled_while_it_trains_stops(light):
    market = small(light)
    task = market.auctioned(rounds=5)
    market.do(market.network, lifecycle.begin_training, task)

    def cancelled(settings):
        market.do(market.network, lifecycle.cancel, task, "no more")
        return Toy(clients=3)

    Steward(light, cancelled).once()
    assert market.status(task) == "cancelled"
    assert market.problems() == []
