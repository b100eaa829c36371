import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.aggregators import BySize
from coterie.backbones import SGD
from coterie.recipe import Central, play
from coterie.selectors.fedcbs import FedCBS, Labels, imbalance
from coterie.testing import check_selector
from tests.oracles import facility
from tests.oracles.quadratic import Quadratic

CLASS = np.repeat(np.arange(4), 6)
COUNTS = 30 * np.eye(4, dtype=np.int64)[CLASS]


def run(selector, rounds, labels=COUNTS, **settings):
    fed = Quadratic(np.random.default_rng(3).normal(size=(24, 4)), labels=labels, **settings)
    return fed, list(play(Central(SGD(), BySize(), selector), fed, rounds))


def test_it_keeps_the_contract():
    check_selector(FedCBS(per_round=3))
    check_selector(FedCBS(per_round=1, tries=3))


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(2, 5))
def test_imbalance_equals_the_published_form(seed, clients, classes):
    counts = np.random.default_rng(seed).integers(0, 20, (clients, classes))
    counts[:, 0] += 1
    assert imbalance(counts.sum(axis=0)) == pytest.approx(facility.qcid(range(clients), counts), abs=1e-12)


def test_histograms_are_asked_for_once():
    fed, _ = run(FedCBS(per_round=4), 5)
    assert fed.asked == {("label_counts", 1): 24}


def test_groups_are_balanced():
    _, records = run(FedCBS(per_round=4), 25)
    assert all(set(CLASS[record.asked]) == {0, 1, 2, 3} for record in records[1:])


def chances(selector, counts, picks, t, times=8000):
    """How often each client is chosen from one state."""
    fed = Quadratic(np.zeros((len(counts), 2)), labels=counts)
    state = Labels(counts, np.ones(len(counts), bool), picks)
    share = np.zeros(len(counts))
    for seed in range(times):
        fed.seed = seed
        share[selector.choose(fed.view(t), state)] += 1 / times
    return share


def test_the_first_draw_weighs_balance_and_how_seldom_one_was_chosen():
    counts, picks = np.array([[10, 0], [8, 2], [6, 4]]), np.array([1, 4, 9])
    q = np.array([facility.qcid([k], counts) for k in range(3)])
    weights = 1 / q**2 + 0.5 * np.sqrt(3 * np.log(20) / (2 * picks))
    found = chances(FedCBS(per_round=1, exploration=0.5, power=2, floor=1e-9), counts, picks, 20)
    np.testing.assert_allclose(found, weights / weights.sum(), atol=0.02)


def test_later_draws_weigh_the_balance_of_the_group():
    counts, ones = np.array([[10, 0], [7, 3], [1, 9]]), np.ones(3, np.int64)
    first = np.array([1 / facility.qcid([k], counts) for k in range(3)])
    first /= first.sum()
    expected = np.zeros(3)
    for a in range(3):
        rest = [k for k in range(3) if k != a]
        second = np.array([1 / facility.qcid([a, k], counts) ** 3 for k in rest])
        expected[a] += first[a]
        expected[rest] += first[a] * second / second.sum()
    found = chances(FedCBS(per_round=2, exploration=0, last_power=3, floor=1e-9), counts, ones, 5)
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_the_best_of_several_tries_is_more_balanced():
    labels = np.random.default_rng(0).multinomial(40, [0.4, 0.3, 0.2, 0.1], 24)

    def mean_imbalance(tries):
        _, records = run(FedCBS(per_round=4, tries=tries), 40, labels=labels)
        return np.mean([imbalance(labels[record.asked].sum(axis=0)) for record in records[1:]])

    assert mean_imbalance(8) < mean_imbalance(1)


def test_those_chosen_are_counted_and_latecomers_asked():
    there = lambda t: range(12) if t < 4 else range(24)  # noqa: E731
    fed, records = run(FedCBS(per_round=4), 6, present=there)
    assert fed.asked["label_counts", 1] == 12 and fed.asked["label_counts", 4] == 12
    chosen = np.bincount(np.concatenate([record.asked for record in records]), minlength=24)
    np.testing.assert_array_equal(records[-1].state["selector"].picks, 1 + chosen)


def test_who_holds_nothing_is_no_candidate_and_not_asked_again():
    labels = COUNTS.copy()
    labels[5] = 0
    fed, records = run(FedCBS(per_round=4), 10, labels=labels)
    assert fed.asked == {("label_counts", 1): 24}
    assert all(5 not in record.asked for record in records[1:])


@pytest.mark.parametrize(
    "wrong",
    [{"per_round": 0}, {"exploration": -1.0}, {"power": -1.0}, {"last_power": 0.5}, {"tries": 0}, {"floor": 0.0}],
)
def test_impossible_settings_are_refused_by_name(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        FedCBS(**{"per_round": 5, **wrong})
