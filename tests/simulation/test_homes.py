import numpy as np

from coterie.rules import Trained
from coterie.simulation.homes import Homes
from tests.simulation.small import same


def model(value: float) -> np.ndarray:
    return np.full(3, value, np.float32)


def test_drawers_hold_what_was_put_last_and_survive_a_restore():
    homes = Homes(remember=True)
    homes.put(4, Trained(model(1), keep={"head": model(2), "mean": model(3)}, personal=model(4)), shared=True)
    homes.put(4, Trained(model(5), keep={"head": model(6)}), shared=True)
    homes.put(2, Trained(model(7)), shared=True)
    assert {name: kept[0] for name, kept in homes.kept[4].items()} == {"head": 6}
    assert (homes.personal[4][0], homes.last[4][0], homes.last[2][0]) == (4, 5, 7)
    assert 2 not in homes.kept
    other = Homes(remember=True)
    other.put(9, Trained(model(1), keep={"old": model(1)}), shared=True)
    other.restore(homes.state())
    assert same(other.state(), homes.state())
    assert set(other.kept) == {4}


def test_what_need_not_be_remembered_is_not():
    for remember, shared in [(False, True), (True, False)]:
        homes = Homes(remember)
        homes.put(1, Trained(model(1)), shared)
        assert not homes.last


def test_a_restored_home_does_not_share_memory_with_the_state():
    homes = Homes(remember=True)
    homes.put(1, Trained(model(1)), shared=True)
    state = homes.state()
    homes.restore(state)
    state["last"]["models"][:] = 9
    assert homes.last[1][0] == 1
