import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import seeds
from coterie.coalitions.dynamics import better_response
from coterie.coalitions.optimal_sharing import optimal_partition, total_error
from coterie.coalitions.seating import Admission
from coterie.coalitions.stability import certify
from coterie.coalitions.uniform_sharing import UniformSharing


def dirichlet_sizes(seed: int, clients: int = 100, alpha: float = 0.5) -> np.ndarray:
    return np.maximum(np.round(seeds.rng(seed, "sizes").dirichlet(np.full(clients, alpha)) * clients * 100), 1)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 14), st.integers(0, 10**6), st.sampled_from(["free", "individual"]), st.sampled_from([None, 2, 4]))
def test_sorted_lone_players_lose_no_best_move(players, seed, consent, max_size):
    """The same best move for everybody as in the plain game, and after every move again."""
    dice = np.random.Generator(np.random.PCG64(seed))
    sizes, threshold = np.round(np.exp(dice.uniform(0, 5, players)), 1), float(np.exp(dice.uniform(0, 5)))
    game, admission = UniformSharing(sizes, threshold), Admission(consent, max_size=max_size)
    start = dice.integers(0, max(players // 2, 1), players) if seed % 2 else np.arange(players)
    fast, plain = game.seat(start, admission), game.plain.seat(start, admission)
    for player in dice.integers(0, players, 30).tolist():
        (to, there, here), (_, best, now) = fast.best(player), plain.best(player)
        assert (there, here) == (pytest.approx(best, rel=1e-9), pytest.approx(now, rel=1e-9))
        np.testing.assert_allclose(fast.offers(player), plain.offers(player))
        if to != fast.labels[player]:
            fast.move(player, to)
            plain.move(player, to)
        np.testing.assert_array_equal(fast.labels, plain.labels)


@pytest.mark.parametrize("alpha", [0.1, 0.5])
@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_nash_dynamics_end_at_the_optimum_whatever_the_start(alpha, level):
    for seed in range(5):
        sizes = dirichlet_sizes(seed, alpha=alpha)
        threshold = max(float(np.quantile(sizes, level)), 1.5)
        best = total_error(sizes, optimal_partition(sizes, threshold), threshold)
        for start in (np.arange(100), np.zeros(100, int), seeds.rng(seed, "start").integers(0, 10, 100)):
            course = better_response(UniformSharing(sizes, threshold), start)
            assert course.ended
            assert total_error(sizes, course.labels, threshold) / best <= 1.001
            assert (np.bincount(course.labels) > 1).sum() == 1
            assert certify(UniformSharing(sizes, threshold), course.labels).nash


def test_with_consent_lone_players_make_several_groups():
    sizes = dirichlet_sizes(1)
    threshold = float(np.median(sizes))
    game, admission = UniformSharing(sizes, threshold), Admission("individual")
    course = better_response(game, admission=admission)
    verdict = certify(game, course.labels)
    assert (course.ended, verdict.individual, verdict.nash) == (True, True, False)
    assert (np.bincount(course.labels) > 1).sum() > 1
    assert (
        1
        < total_error(sizes, course.labels, threshold) / total_error(sizes, optimal_partition(sizes, threshold), threshold)
        < 1.06
    )


def test_everybody_is_alone_above_the_threshold_and_together_below():
    sizes = dirichlet_sizes(2)
    alone = better_response(UniformSharing(sizes, sizes.min() / 2), np.zeros(100, int))
    assert len(np.unique(alone.labels)) == 100
    together = better_response(UniformSharing(sizes, 2 * sizes.max()))
    assert len(np.unique(together.labels)) == 1


def test_bars_are_kept_by_the_plain_game():
    game = UniformSharing(np.full(6, 3.0), 100.0)
    course = better_response(game, admission=Admission(barred=np.arange(6) == 2))
    assert course.labels.tolist() == [0, 0, 1, 0, 0, 0]


def test_sizes_must_be_positive():
    with pytest.raises(ValueError, match="sizes"):
        UniformSharing(np.array([1.0, 0.0]), 5.0)
