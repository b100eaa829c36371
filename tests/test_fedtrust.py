"""FedTrust as a whole, in a world where a quarter of the clients save their machines."""

from dataclasses import replace

import numpy as np
import pytest

import coterie
from coterie.backbones import SGD
from coterie.federation import Steps
from coterie.simulation import World
from coterie.simulation.attacks import Attack
from coterie.simulation.world import Reality
from tests.simulation.small import played, small

SIZES = (18, 22, 20, 25, 19, 21, 20, 23, 17, 20, 16, 19)
STEPS = SGD(Steps(epochs=2, batch_size=5))
WORLD = World(attack="selfish", attackers=0.25, lazy_use=0.15)
ROUNDS = 5


def trained(recipe, world=WORLD, rounds=ROUNDS):
    federation = small(SIZES, world=world)
    return federation, played(recipe, federation, rounds)


@pytest.mark.parametrize("max_size", [None, 3])
def test_the_selfish_end_alone_and_the_honest_train_together(max_size):
    federation, records = trained(coterie.fedtrust(max_size=max_size, backbone=STEPS))
    lazy = federation.reality.efforts(1) < 1
    assert records[0].asked.tolist() == list(range(12))
    for record in records[1:]:
        assert record.asked.tolist() == np.flatnonzero(~lazy).tolist()
        assert record.coalitions.certificate["ended"]
        sizes = record.coalitions.sizes[record.coalitions.labels]
        assert (sizes[lazy] == 1).all()
        assert (sizes[~lazy] > 1).all()
        assert max_size is None or sizes.max() <= max_size


@pytest.mark.parametrize("max_size", [None, 3])
def test_one_message_a_coalition_reaches_the_server(max_size):
    federation, records = trained(coterie.fedtrust(max_size=max_size, backbone=STEPS))
    model = 4 * federation.layout.size
    for record in records:
        coalitions = len(set(record.coalitions.labels[record.asked]))
        assert record.meter.messages == coalitions
        assert record.meter.up["model"] == record.meter.down["model"] == coalitions * model
        assert record.meter.between["model"] == 2 * (len(record.asked) - coalitions) * model
        assert record.meter.up["telemetry"] == 8 * 6 * len(record.asked)


def test_masters_average_by_samples_and_so_does_the_server():
    _, records = trained(coterie.fedtrust(max_size=4, backbone=STEPS))
    sizes = small(SIZES).roster["size"][records[-1].used]
    np.testing.assert_allclose(records[-1].merge.weights.toarray()[0], sizes / sizes.sum())


def test_a_master_that_fails_costs_its_own_reply_and_nothing_else(monkeypatch):
    recipe = coterie.fedtrust(backbone=STEPS)
    calm = trained(recipe)[1]
    master = int(calm[0].coalitions.leaders[0])
    second = int(calm[0].coalitions.stand_ins[0])
    monkeypatch.setattr(Reality, "failing", lambda self, t, clients: {master: "during"} if t == 1 else {})
    federation, rough = trained(recipe)
    assert rough[0].answered.tolist() == [k for k in range(12) if k != master]
    assert rough[0].meter.messages == 1
    assert second in rough[0].answered
    assert master in rough[-1].answered or federation.reality.efforts(1)[master] < 1


def test_an_honest_device_that_fails_now_and_then_is_not_taken_for_selfish():
    _, records = trained(coterie.fedtrust(backbone=STEPS), World(fail_during=0.15, hiccups=0.05), 12)
    assert (records[-1].state["trust"].trust >= 0.5).all()


def test_as_printed_nobody_is_found_and_coalitions_do_not_settle():
    federation, records = trained(coterie.fedtrust_printed(max_sweeps=5, backbone=STEPS))
    lazy = federation.reality.efforts(1) < 1
    assert records[0].coalitions.certificate["ended"]
    assert not records[-1].coalitions.certificate["ended"]
    assert not records[-1].coalitions.certificate["nash"]
    assert (records[-1].state["trust"].trust[lazy] > 0.5).all()


def test_the_words_and_readings_alone_decide():
    """Whoever's gauges read alike and updates look alike is believed alike, whatever the world knows."""
    world = World(attack="selfish", attackers=0.25, lazy_use=0.7)
    honest, named = trained(coterie.fedtrust(backbone=STEPS), World())[1], trained(coterie.fedtrust(backbone=STEPS), world)[1]
    for one, other in zip(honest, named, strict=True):
        assert one.asked.tolist() == other.asked.tolist()
        np.testing.assert_array_equal(one.state["trust"].trust, other.state["trust"].trust)


@pytest.mark.parametrize("recommendations", ["mean", "median"])
def test_colluders_neither_free_each_other_nor_have_the_honest_shut_out(recommendations):
    world = World(attack="selfish", attackers=0.34, lazy_use=0.07, collude=True)
    recipe = coterie.fedtrust(recommendations=recommendations, backbone=STEPS)
    federation, records = trained(recipe, world)
    lazy = federation.reality.efforts(1) < 1
    honest = [record.state["trust"].trust for record in trained(recipe, replace(world, collude=False))[1]]
    lied = [record.state["trust"].trust for record in records]
    assert (lied[0][lazy] > honest[0][lazy]).all() or recommendations == "median"
    assert (lied[0][~lazy] < honest[0][~lazy]).any() or recommendations == "median"
    assert (lied[-1][lazy] < 0.5).all()
    assert (lied[-1][~lazy] >= 0.5).all()


def test_who_vouches_for_whom():
    said = Attack("selfish", 0.5, collude=True).words(1, 4, np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0]), np.full(4, 0.6))
    who = Attack("selfish", 0.5).who(1, 4)
    for speaker, about, one in zip(range(4), (1, 2, 3, 0), said, strict=True):
        assert one == (float(who[about]) if who[speaker] else 0.6)
    alone = small(SIZES, world=WORLD).view(1).ask.words([0, 1], [1, 0], [0.2, 0.3])
    assert alone.tolist() == [0.2, 0.3]
