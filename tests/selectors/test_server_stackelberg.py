import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import data, simulate
from coterie.aggregators import Mean
from coterie.backbones import SGD
from coterie.federation import Steps
from coterie.recipe import Central, play
from coterie.selectors import ServerStackelberg
from coterie.selectors.server_stackelberg import contributions
from coterie.simulation import World
from coterie.testing import check_selector


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(0.1, 50), st.floats(0.01, 20)), min_size=2, max_size=7))
def test_nobody_would_rather_bring_another_number_of_samples(pairs):
    gains, most = np.array(pairs).T
    brought = contributions(gains, most)
    assert (brought <= most * (1 + 1e-9)).all()
    for client in range(len(gains)):
        others = brought.sum() - brought[client]

        def has(samples, client=client, others=others):
            return gains[client] * samples / (samples + others) - samples if samples + others > 0 else 0.0

        grid = np.linspace(0, most[client], 300)
        assert max(map(has, grid)) <= has(brought[client]) + 1e-7 * gains[client]


def test_who_alone_can_bring_anything_brings_all():
    assert contributions(np.array([5.0, 1.0]), np.array([3.0, 0.0])).tolist() == [3.0, 0.0]
    assert contributions(np.empty(0), np.empty(0)).tolist() == []


def test_the_fast_with_much_data_train():
    world = World(devices="tiers", strong=0.3, strength=50.0, speed_spread=0.0)
    fed = simulate("digits", partition=data.iid(), clients=10, seed=1, model="linear", world=world, workers=1)
    strong = set(np.flatnonzero(fed.roster["cpu"] > 1).tolist())
    recipe = Central(SGD(Steps(epochs=1)), Mean(), ServerStackelberg(3, reward=1e-3, passes=1.0))
    for record in play(recipe, fed, 2):
        assert set(record.asked.tolist()) <= strong and len(record.asked) > 0


def test_it_keeps_the_contract():
    check_selector(ServerStackelberg(3))


@pytest.mark.parametrize("settings_", [{"per_round": 0}, {"reward": 0.0}, {"seconds": 0.0}, {"passes": -1.0}])
def test_impossible_settings_are_refused(settings_):
    with pytest.raises(ValueError, match=f"{next(iter(settings_))}: must be"):
        ServerStackelberg(**{"per_round": 3, **settings_})
