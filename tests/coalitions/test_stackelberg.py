import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import seeds
from coterie.coalitions.stackelberg import equilibrium, one_shot, regret, utilities

GAINS = st.lists(st.one_of(st.just(0.0), st.integers(1, 4).map(float), st.floats(1e-3, 1e3)), min_size=0, max_size=12)
CAPS = st.one_of(st.just(np.inf), st.floats(1e-3, 1.5))


def best_on_a_grid(gains: np.ndarray, payments: np.ndarray, limit: float) -> float:
    """The most that anybody gains by a payment on a grid."""
    top = min(limit, float(gains.max()))
    best = 0.0
    for follower in range(len(gains)):
        for other in np.concatenate([np.linspace(0, top, 200), payments[follower] * np.array([0.9, 0.999, 1.001, 1.1])]):
            if other > limit:
                continue
            changed = payments.copy()
            changed[follower] = other
            best = max(best, (utilities(gains, changed) - utilities(gains, payments))[follower])
    return best


@settings(max_examples=300, deadline=None)
@given(GAINS, CAPS)
def test_nobody_gains_by_deviating_from_the_equilibrium(gains, cap):
    payments = equilibrium(gains, cap)
    assert (payments >= 0).all()
    assert regret(gains, payments, cap) <= 1e-9
    if np.isfinite(cap):
        assert (payments <= cap * max(gains, default=0.0) * (1 + 1e-12)).all()


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.floats(1e-2, 1e2), st.floats(1e-3, 1.5)), min_size=1, max_size=10))
def test_caps_may_differ(pairs):
    gains, caps = np.array(pairs).T
    payments = equilibrium(gains, caps)
    assert (payments <= caps * gains.max() * (1 + 1e-12)).all()
    assert regret(gains, payments, caps) <= 1e-9
    if (caps == caps[0]).all():
        np.testing.assert_allclose(payments, equilibrium(gains, float(caps[0])))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.one_of(st.just(0.0), st.floats(0.01, 1)), min_size=1, max_size=6).filter(any), CAPS)
def test_a_grid_of_other_payments_finds_no_gain_either(gains, cap):
    delta = np.array(gains)
    assert best_on_a_grid(delta, equilibrium(delta, cap), cap * delta.max()) <= 1e-9 * delta.max()


def test_the_worked_example():
    gains = np.array([10.0, 8.0, 5.0, 3.0, 1.0])
    payments = equilibrium(gains)
    np.testing.assert_allclose(payments, [2.4913, 1.9377, 0.2768, 0, 0], atol=5e-5)
    assert payments.sum() == pytest.approx(4.7059, abs=5e-5)
    np.testing.assert_allclose(utilities(gains, payments), gains * np.maximum(1 - payments.sum() / gains, 0) ** 2, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.01, 10), min_size=2, max_size=8), st.integers(0, 10**6), CAPS)
def test_order_and_unit_do_not_matter(gains, seed, cap):
    delta = np.array(gains)
    mixed = np.random.Generator(np.random.PCG64(seed)).permutation(len(delta))
    payments = equilibrium(delta, cap)
    np.testing.assert_allclose(equilibrium(delta[mixed], cap), payments[mixed], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(equilibrium(100 * delta, cap), 100 * payments, rtol=1e-9, atol=1e-10)


def test_a_very_low_cap_is_paid_by_all():
    assert equilibrium([10, 9, 8], cap=1e-3).tolist() == pytest.approx([0.01] * 3)


def test_who_has_nothing_to_gain_or_no_rival_pays_nothing():
    assert equilibrium([]).tolist() == []
    assert equilibrium([0, 0]).tolist() == [0, 0]
    assert equilibrium([0, 7, -1]).tolist() == [0, 0, 0]
    assert equilibrium([7, 7, 0]).tolist() == pytest.approx([1.75, 1.75, 0])


def test_the_printed_payments_are_zero_on_shortlists_of_like_followers():
    """Gains within a third of one another, as ten followers of one leader have: nobody pays, and a deviator takes 0.9."""
    dice = seeds.rng(1, "shortlists")
    for _ in range(20):
        gains = dice.uniform(0.66, 1, 10)
        assert one_shot(gains).tolist() == [0] * 10
        assert 0.85 <= regret(gains, one_shot(gains)) <= 0.9
        paid = equilibrium(gains)
        assert (paid > 0).sum() >= 6
        assert 0.6 <= paid.sum() / gains.max() <= 0.9


def test_the_printed_payments_of_two_are_one_best_response():
    assert one_shot([4.0, 9.0]).tolist() == [0.0, 2.0]
    assert one_shot([4.0, 9.0], cap=0.1).tolist() == [0.0, pytest.approx(0.9)]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: equilibrium([1.0, np.nan]), "gains: must be one finite number"),
        (lambda: equilibrium([[1.0]]), "gains"),
        (lambda: equilibrium([1.0, 2.0], cap=0.0), "cap: must be a number above 0"),
        (lambda: one_shot([1.0, 2.0], cap=-1.0), "cap"),
    ],
)
def test_impossible_games_are_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()
