import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import data, simulate
from coterie.aggregators import Mean
from coterie.backbones import SGD
from coterie.federation import Steps
from coterie.recipe import Central, play
from coterie.selectors import FedCS
from coterie.selectors.fedcs import in_time
from coterie.simulation import World
from coterie.testing import check_selector

TIMES = st.lists(st.tuples(st.floats(0, 20), st.floats(0.01, 5)), max_size=9)


def by_hand(train, send, limit, most):
    """Nishio and Yonetani's Algorithm 3, one client after another, with T_d the slowest download of those taken."""
    left, taken, ends, theta = set(range(len(train))), [], [], 0.0

    def distribution(clients):
        return max((send[k] for k in clients), default=0.0)

    while left and len(taken) < most:
        adds = {k: distribution([*taken, k]) - distribution(taken) + send[k] + max(0.0, train[k] - theta) for k in left}
        best = min(sorted(left), key=adds.get)
        left.remove(best)
        then = theta + send[best] + max(0.0, train[best] - theta)
        total = distribution([*taken, best]) + then
        if total <= limit:
            theta = then
            taken.append(best)
            ends.append(total)
    return taken, ends


@settings(max_examples=200, deadline=None)
@given(TIMES, st.floats(0.5, 60), st.integers(1, 9))
def test_the_group_is_that_of_the_plain_algorithm(times, limit, most):
    train, send = (np.array(column, float) for column in zip(*times, strict=True)) if times else (np.empty(0), np.empty(0))
    taken, ends = in_time(train, send, limit, most)
    assert (ends <= limit).all() and len(set(taken.tolist())) == len(taken)
    expected, theirs = by_hand(train.tolist(), send.tolist(), limit, most)
    np.testing.assert_allclose(ends, theirs[: len(ends)], rtol=1e-9)
    assert len(taken) == len(expected)


def test_the_slow_are_left_out_and_the_round_ends_in_time():
    world = World(devices="tiers", strong=0.5, strength=20.0, speed=5.0, speed_spread=0.0, bandwidth_spread=0.0)
    fed = simulate("digits", partition=data.iid(), clients=10, seed=1, model="linear", world=world, workers=1)
    strong = np.flatnonzero(fed.roster["cpu"] > 1)
    steps = Steps(epochs=1)
    for record in play(Central(SGD(steps), Mean(), FedCS(10, seconds=5.0, passes=1.0)), fed, 2):
        assert set(record.asked.tolist()) == set(strong.tolist())
        assert record.duration <= 5.0


def test_it_keeps_the_contract():
    check_selector(FedCS(3, seconds=1e3))


@pytest.mark.parametrize("settings_", [{"per_round": 0}, {"seconds": 0.0}, {"passes": 0.0}])
def test_impossible_settings_are_refused(settings_):
    with pytest.raises(ValueError, match=f"{next(iter(settings_))}: must be"):
        FedCS(**{"per_round": 3, **settings_})
