import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import seeds
from coterie.coalitions import sharing_errors as errors
from coterie.coalitions.optimal_sharing import optimal_partition, price_of_anarchy, sharing_game, total_error
from coterie.coalitions.stability import certify, stable_structures, structures


def log_uniform(dice: np.random.Generator, players: int, most: float) -> np.ndarray:
    return np.exp(dice.uniform(0, np.log(most), players))


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 7), st.floats(1, 200), st.integers(0, 10**6), st.booleans())
def test_no_structure_has_a_smaller_total_error(players, threshold, seed, whole):
    sizes = log_uniform(np.random.Generator(np.random.PCG64(seed)), players, 5 * threshold)
    sizes = np.ceil(sizes) if whole else sizes
    best = total_error(sizes, optimal_partition(sizes, threshold), threshold)
    assert best <= min(total_error(sizes, labels, threshold) for labels in structures(players)) * (1 + 1e-12)


def test_the_total_is_the_sum_of_sizes_times_errors():
    sizes, labels, variance = np.array([3.0, 8.0, 1.0, 20.0, 5.0]), np.array([0, 1, 0, 2, 1]), 2.0
    by_hand = 0.0
    for group in range(3):
        n = sizes[labels == group]
        by_hand += n @ errors.uniform(n, errors.by_mean(n, 14.0), variance)
    assert variance * total_error(sizes, labels, 14.0 / variance) == pytest.approx(by_hand)


def test_the_worked_example_of_one_eight_fifteen():
    sizes, game = [1, 8, 15], sharing_game([1, 8, 15], [10, 10 / 8, 10 / 15], 1.0)
    assert optimal_partition(sizes, 10).tolist() == [0, 0, 1]
    assert total_error(sizes, [0, 0, 1], 10) == pytest.approx(21.778, abs=5e-4)
    assert total_error(sizes, [0, 1, 0], 10) == pytest.approx(21.875, abs=5e-4)
    assert stable_structures(game, "individual") == [(0, 1, 0)]
    assert price_of_anarchy(sizes, 10) == pytest.approx(21.875 / 21.7778, abs=1e-4)


def test_the_price_of_anarchy_stays_under_nine_and_above_one_even_below_the_threshold():
    dice = seeds.rng(1, "anarchy")
    wide = [price_of_anarchy(log_uniform(dice, 5, 250.0), 50.0) for _ in range(15)]
    below = [price_of_anarchy(log_uniform(dice, 5, 50.0), 50.0) for _ in range(15)]
    assert min(wide + below) >= 1
    assert max(wide + below) <= 9
    assert max(below) > 1.001
    assert all(price_of_anarchy(log_uniform(dice, 5, 25.0), 50.0) == pytest.approx(1) for _ in range(10))


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10**6))
def test_at_most_the_threshold_the_grand_coalition_is_in_the_core_above_it_being_alone(players, seed):
    dice = np.random.Generator(np.random.PCG64(seed))
    small, large = dice.uniform(1, 10, players), dice.uniform(10, 100, players)
    together, alone = np.zeros(players, int), np.arange(players)
    assert certify(sharing_game(small, 10 / small, 1.0), together).core
    assert certify(sharing_game(large, 10 / large, 1.0), alone).core
    assert stable_structures(sharing_game(large, 10 / large, 1.0), "individual") == [tuple(alone.tolist())]


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10**6))
def test_the_best_weights_bring_everybody_together(players, seed):
    sizes = log_uniform(np.random.Generator(np.random.PCG64(seed)), players, 500.0)
    together = np.zeros(players, int)
    fine = certify(sharing_game(sizes, 30 / sizes, 1.0, "fine"), together)
    assert (fine.nash, fine.core) == (True, True)
    assert certify(sharing_game(sizes, 30 / sizes, 1.0, "coarse"), together).individual


def test_with_fine_weights_nothing_but_the_grand_coalition_lasts():
    sizes = log_uniform(seeds.rng(1, "fine"), 6, 500.0)
    assert stable_structures(sharing_game(sizes, 30 / sizes, 1.0, "fine"), "individual") == [(0,) * 6]


def test_an_individually_stable_structure_that_is_not_in_the_core():
    """At noise 100, 123 players of size 11 take in one of three of size 106; 122 of them would rather have the others."""
    sizes = np.array([11.0] * 123 + [106.0] * 3)
    labels = np.array([0] * 124 + [1, 2])
    assert certify(sharing_game(sizes, 100 / sizes, 1.0), labels).individual
    now, then = sizes[:124], np.concatenate([sizes[:122], sizes[124:]])
    before, after = (errors.uniform(n, errors.by_mean(n, 100.0), 1.0) for n in (now, then))
    assert after[0] < before[0]
    assert after[-1] < 100 / 106


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.sampled_from(["uniform", "coarse", "fine"]), st.booleans(), st.integers(0, 10**6))
def test_the_game_is_the_formulas(players, sharing, regression, seed):
    dice = np.random.Generator(np.random.PCG64(seed))
    sizes = dice.integers(5, 100, players).astype(float)
    local = errors.by_regression(sizes, 7.0, 3) if regression else errors.by_mean(sizes, 7.0)
    game = sharing_game(sizes, local, 0.3, sharing)
    chosen = dice.random(players) < 0.6
    chosen[0] = True
    n, e = sizes[chosen], local[chosen]
    by_formula = {
        "uniform": lambda: errors.uniform(n, e, 0.3),
        "coarse": lambda: errors.coarse(n, e, 0.3),
        "fine": lambda: errors.fine(e, 0.3),
    }
    np.testing.assert_allclose(-game.worths(chosen[np.newaxis])[0, chosen], by_formula[sharing]())


def test_sizes_must_be_positive():
    with pytest.raises(ValueError, match="sizes"):
        optimal_partition([3, 0], 10)
