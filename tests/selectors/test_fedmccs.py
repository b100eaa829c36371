import numpy as np
import pytest

from coterie import data, simulate
from coterie.aggregators import Mean
from coterie.backbones import SGD
from coterie.federation import Steps
from coterie.recipe import Central, play
from coterie.selectors import FedMCCS
from coterie.simulation import World
from coterie.testing import check_selector

ONCE = SGD(Steps(epochs=1))


def federation(**world):
    return simulate(
        "digits", partition=data.dirichlet(0.5), clients=12, seed=1, model="linear", world=World(**world), workers=1
    )


def played(selector, fed, rounds=3):
    return list(play(Central(ONCE, Mean(), selector), fed, rounds))


def test_the_weak_and_the_late_are_left_out():
    fed = federation(devices="tiers", strong=0.5, strength=10.0, speed=10.0, speed_spread=0.0, bandwidth_spread=0.0)
    strong = set(np.flatnonzero(fed.roster["cpu"] > fed.roster["cpu"].min()).tolist())
    for settings in ({"min_cpu": float(fed.roster["cpu"].max()) / 2}, {"min_ram": 20.0}, {"seconds": 3.0}):
        for record in played(FedMCCS(12, passes=1.0, **settings), fed := federation(**fed_world(fed))):
            assert set(record.asked.tolist()) <= strong


def fed_world(fed):
    world = fed.reality.world
    return {
        "devices": world.devices,
        "strong": world.strong,
        "strength": world.strength,
        "speed": world.speed,
        "speed_spread": 0.0,
        "bandwidth_spread": 0.0,
    }


def test_those_with_most_classes_go_first_once_they_have_told():
    fed = federation(devices="alike")
    held = (fed.clients.label_counts > 0).sum(axis=1)
    records = played(FedMCCS(4, min_cpu=0.0, min_ram=0.0, seconds=1e6), fed)
    assert sorted(held[records[1].asked].tolist()) == sorted(held.tolist())[-4:]
    fastest = played(FedMCCS(4, min_cpu=0.0, min_ram=0.0, seconds=1e6, first="speed"), federation())
    guess = fed.roster["size"] / federation().roster["speed"]
    assert len(np.intersect1d(fastest[0].asked, np.argsort(guess)[:6])) >= 3


def test_the_forecast_learns_what_replies_take():
    fed = federation(bandwidth=1e5)
    last = played(FedMCCS(6, passes=1.0, min_cpu=0.0, min_ram=0.0, seconds=1e6, first="speed"), fed, 30)[-1]
    view = fed.view(31)
    expected = last.state["selector"].forecast.seconds(view, fed.roster.ids, 1.0)
    sent = np.full(12, 2 * 4 * fed.layout.size)
    np.testing.assert_allclose(
        expected, fed.reality.devices.seconds(fed.roster.ids, fed.roster["size"], sent), rtol=0.1, atol=0.02
    )


def test_if_nobody_meets_the_criteria_the_fastest_train():
    fed = federation()
    assert len(played(FedMCCS(3, min_ram=1e9), fed, 1)[0].asked) == 3


def test_it_keeps_the_contract():
    check_selector(FedMCCS(3))


@pytest.mark.parametrize(
    "settings", [{"per_round": 0}, {"seconds": 0.0}, {"min_cpu": -1.0}, {"min_ram": -1.0}, {"passes": 0.0}]
)
def test_impossible_settings_are_refused(settings):
    with pytest.raises(ValueError, match=f"{next(iter(settings))}: must be"):
        FedMCCS(**{"per_round": 3, **settings})
