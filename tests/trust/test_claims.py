import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.aggregators import Mean
from coterie.backbones import SGD
from coterie.federation import Steps
from coterie.neighbors import Gossip
from coterie.plan import Plan
from coterie.recipe import Central, Peers
from coterie.selectors import Uniform
from coterie.simulation import World
from coterie.trust import Audit, Past
from coterie.trust import audit as words
from coterie.trust.claims import Claims, densest
from tests.oracles import claims as plain
from tests.simulation.small import blobs, played, small

STEPS = Steps(epochs=2, batch_size=8, lr=0.1)
AUDIT = Audit()
SIZES = (20, 30, 12, 25, 40, 18, 22, 35, 28, 16, 24, 33)


def one_round(plan=None, sizes=SIZES, **world):
    federation = small(sizes, blobs(320), world=World(**world))
    view = federation.view(1)
    asked = plan or Plan.star(np.arange(len(sizes)), SGD(STEPS))
    return view, asked, federation.train(asked), federation


@pytest.mark.parametrize("speed", [30.0, 3000.0])
def test_clocks_and_gauges_are_those_of_a_plain_loop(speed):
    view, plan, replies, _ = one_round(speed=speed)
    claims, roster = Claims.of(view, plan, replies), view.roster
    for i in range(len(replies)):
        told = (roster["size"][i], roster["speed"][i], roster["bandwidth"][i])
        whole, part = plain.clock(replies.seconds[i], *told, view.models.shape[1], 2)
        assert claims.clock[i, 0] == pytest.approx(whole, abs=1e-9)
        assert np.isnan(claims.clock[i, 1]) if part is None else claims.clock[i, 1] == pytest.approx(part, abs=1e-6)
        made = plain.gauge(replies.facts["loss"][i], view.models[0], replies.models[i], told[0], 2, 8, 0.1)
        assert claims.gauge[i] == pytest.approx(made, rel=1e-5)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=15))
def test_the_densest_half_is_the_shortest_of_all(numbers):
    middle, spread = densest(np.sort(np.array(numbers)))
    expected, width = plain.densest(numbers)
    assert spread == pytest.approx(width, abs=1e-9)
    ties = len({round(one, 9) for one in numbers}) < len(numbers) or spread > 0
    assert middle == pytest.approx(expected, abs=1e-9) or ties


def judged(rounds=4, audit=AUDIT, steps=STEPS, **world):
    """Who is doubted, for what, and who attacks."""
    federation = small(SIZES, blobs(320), world=World(attackers=0.25, **world))
    records = played(Central(SGD(steps), Mean(), Uniform(12), trust=audit), federation, rounds)
    who = set(np.flatnonzero(federation.reality.attack.who(1, len(SIZES))).tolist())
    return {client: why for record in records for client, why in record.doubted.items()}, who


@pytest.mark.parametrize("absolute", [True, False])
@pytest.mark.parametrize(
    ("attack", "lie"), [("false-size", 2.0), ("false-size", 10.0), ("false-speed", 2.0), ("selfish", 10.0)]
)
def test_the_clock_tells_who_has_less_or_slower_than_said(attack, lie, absolute):
    many = Steps(epochs=10, batch_size=8, lr=0.02)
    found, who = judged(attack=attack, lie=lie, audit=Audit(absolute=absolute), steps=many, speed=100.0)
    assert found == dict.fromkeys(who, words.CLOCK)


def test_a_loss_that_no_move_bears_out_is_not_believed():
    found, who = judged(attack="false-loss", lie=30.0)
    assert found == dict.fromkeys(who, words.TOLD)


@pytest.mark.parametrize("attack", ["norm", "return", "sign-flip"])
def test_what_attackers_send_does_not_make_honest_losses_look_loud(attack):
    found, who = judged(6, attack=attack)
    assert set(found) <= who


def test_a_fifth_of_the_clients_cannot_make_the_others_look_loud():
    gauges = np.concatenate([np.full(4, -2.2), np.random.default_rng(0).normal(0, 0.4, 16)])
    claims = Claims(np.full((20, 2), np.nan), gauges, None)
    assert (claims.louder(Past.none(20), np.arange(20), np.ones(20, bool)) < np.log(6.0)).all()


@pytest.mark.parametrize("attack", ["false-size", "false-loss"])
def test_with_the_questions_off_liars_pass(attack):
    assert judged(attack=attack, lie=30.0, audit=Audit(clock=0.0, told=0.0)) == ({}, judged(attack="none")[1])


def test_honest_clients_pass_also_where_their_times_vary():
    for jitter in (0.0, 0.3):
        for absolute in (True, False):
            assert judged(8, audit=Audit(absolute=absolute), attack="none", jitter=jitter)[0] == {}


def test_most_may_lie_where_the_clock_is_absolute():
    federation = small(SIZES, blobs(320), world=World(attack="false-speed", attackers=0.8, speed=100.0))
    audit = Audit(absolute=True)
    records = played(Central(SGD(STEPS), Mean(), Uniform(12), trust=audit), federation, 1)
    assert set(records[0].doubted) == set(np.flatnonzero(federation.reality.attack.who(1, 12)).tolist())


def test_where_nothing_can_be_known_nothing_is_asked():
    federation = small(SIZES, blobs(320))
    past = Past.none(12)
    few = Claims(np.full((3, 2), 5.0), np.array([9.0, 0.0, 0.0]), None)
    assert not few.off(past, np.arange(3), False).any()
    assert not few.louder(past, np.arange(3), np.ones(3, bool)).any()
    assert not few.off(past, np.arange(3), True).any()
    peers = Peers(SGD(STEPS), Mean(), Gossip(3), trust=Audit(absolute=True))
    assert not [one.doubted for one in played(peers, federation, 3) if words.CLOCK in one.doubted.values()]


@pytest.mark.parametrize(("wrong", "says"), [({"clock": 0.5}, "clock"), ({"told": 1.0}, "told")])
def test_limits_that_mean_nothing_are_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        Audit(**wrong)
