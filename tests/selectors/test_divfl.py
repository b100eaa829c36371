import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.aggregators import BySize
from coterie.backbones import SGD
from coterie.recipe import Central, play
from coterie.selectors.divfl import DivFL, representatives
from coterie.testing import check_selector
from tests.oracles import facility
from tests.oracles.quadratic import Quadratic

GROUPS = np.repeat(np.arange(4), 5)


def run(selector, rounds, **settings):
    rng = np.random.default_rng(3)
    fed = Quadratic(3 * np.eye(4)[GROUPS] + 0.05 * rng.normal(size=(20, 4)), **settings)
    return fed, list(play(Central(SGD(), BySize(), selector), fed, rounds))


def test_it_keeps_the_contract():
    check_selector(DivFL(per_round=3))
    check_selector(DivFL(per_round=3, part="head", refresh="all"))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(1, 6))
def test_picks_equal_a_plain_greedy_search(seed, clients, count):
    rng = np.random.default_rng(seed)
    gradients = rng.normal(size=(clients, 3))
    candidates = np.sort(rng.choice(clients, rng.integers(1, clients + 1), replace=False))
    apart = np.linalg.norm(gradients[:, np.newaxis] - gradients[candidates], axis=2)
    found = candidates[representatives(apart, count)].tolist()
    assert found == facility.representatives(gradients, range(clients), candidates.tolist(), count)


def test_greedy_is_near_the_best_of_all():
    """Its gain over the empty choice is at least 1 − 1/e of the best one's, as for any monotone submodular function."""
    from itertools import combinations

    rng = np.random.default_rng(0)
    gradients = rng.normal(size=(10, 2))
    apart = np.linalg.norm(gradients[:, np.newaxis] - gradients, axis=2)
    worst = apart.max(axis=1).sum()
    best = min(facility.far_from(group, gradients, range(10)) for group in combinations(range(10), 3))
    ours = facility.far_from(representatives(apart, 3).tolist(), gradients, range(10))
    assert worst - ours >= (1 - 1 / np.e) * (worst - best)


def test_everybody_is_asked_once_and_then_those_who_trained():
    fed, records = run(DivFL(per_round=4), 6)
    assert [fed.asked["gradients", t] for t in range(1, 7)] == [20, 4, 4, 4, 4, 4]
    assert all(set(GROUPS[record.asked]) == {0, 1, 2, 3} for record in records[1:3])


def test_a_gradient_is_that_of_the_model_last_received():
    fed, records = run(DivFL(per_round=3), 1)
    first = records[-1].state["selector"]
    np.testing.assert_allclose(first.rows, -fed.centers, rtol=1e-6)
    model = fed.models[0].copy()
    record = next(iter(play(Central(SGD(), BySize(), DivFL(per_round=3)), fed, 2, records[-1].state)))
    second = record.state["selector"]
    expected = -fed.centers.copy()
    expected[record.answered] += model
    np.testing.assert_allclose(second.rows, expected, rtol=1e-5, atol=1e-6)
    apart = np.linalg.norm(second.rows[:, np.newaxis].astype(float) - second.rows, axis=2)
    np.testing.assert_allclose(second.distances, apart, atol=1e-6)


def test_the_last_layer_is_enough_if_so_wished():
    _, records = run(DivFL(per_round=3, part="head"), 2)
    assert records[-1].state["selector"].rows.shape == (20, 4)


def test_all_may_be_asked_every_round():
    fed, _ = run(DivFL(per_round=3, refresh="all"), 3)
    assert [fed.asked["gradients", t] for t in (1, 2, 3)] == [20, 20, 20]


def test_the_absent_are_stood_for_but_not_chosen():
    there = lambda t: range(12) if t == 1 else [0, 1, 5, 6, 13, 14]  # noqa: E731
    fed, records = run(DivFL(per_round=5), 3, present=there)
    assert [fed.asked["gradients", t] for t in (1, 2)] == [12, 6]
    for record in records[1:]:
        assert set(record.asked) <= set(there(2)) and len(record.asked) == 5


@pytest.mark.parametrize("wrong", [{"per_round": 0}, {"part": "foot"}, {"refresh": "never"}])
def test_impossible_settings_are_refused_by_name(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        DivFL(**{"per_round": 5, **wrong})
