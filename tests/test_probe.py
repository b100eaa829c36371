import numpy as np
import pytest
from scipy import stats

from coterie.probe import Blur, Probe


def test_directions_come_from_the_seed_alone():
    one, other = Probe(seed=1, directions=200), Probe(seed=2, directions=200)
    np.testing.assert_array_equal(one.moves(30), Probe(seed=1, directions=200).moves(30))
    assert not np.array_equal(one.moves(30), other.moves(30))
    assert one.moves(30).dtype == np.float32
    assert one.moves(30).std() == pytest.approx(0.05, rel=0.05)


def test_an_exact_answer_leaves_as_it_is():
    changes = np.array([3.0, -400.0])
    np.testing.assert_array_equal(Probe(seed=1, directions=2).release(changes, np.random.default_rng(0)), changes)


def test_a_private_answer_is_clipped_as_a_whole_and_noised():
    probe = Probe(seed=1, directions=4, clip=2.0, epsilon=1.0)
    rng = np.random.default_rng(0)
    answers = np.stack([probe.release(np.array([6.0, -2.0, 0.0, 0.0]), rng) for _ in range(20_000)])
    assert answers.mean(axis=0) == pytest.approx([1.5, -0.5, 0, 0], abs=0.2)
    assert stats.kstest(answers[:, 0] - 1.5, stats.laplace(scale=4.0).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(answers.T)[0, 1]) < 0.03


def test_noise_is_large_enough_for_the_stated_epsilon():
    """The likelihood ratio between the two worst inputs stays within e^epsilon."""
    probe = Probe(seed=1, directions=1, clip=1.0, epsilon=2.0)
    rng = np.random.default_rng(1)
    low = np.array([probe.release(np.array([-5.0]), rng)[0] for _ in range(40_000)])
    high = np.array([probe.release(np.array([5.0]), rng)[0] for _ in range(40_000)])
    ratio = (high > 1.0).mean() / (low > 1.0).mean()
    assert np.exp(1.8) < ratio < np.exp(2.2)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_private_answer_is_finite_whatever_the_loss(value):
    assert np.isfinite(Probe(seed=1, epsilon=1.0, directions=2).release(np.array([value, 0.1]), np.random.default_rng(0))).all()


@pytest.mark.parametrize("wrong", [{"directions": 0}, {"step": 0.0}, {"clip": -1.0}, {"epsilon": 0.0}, {"step": float("nan")}])
def test_impossible_probes_are_refused_by_name(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Probe(seed=1, **wrong)


def test_a_blurred_gradient_is_clipped_and_noised_as_printed():
    blur, rng = Blur(clip=2.0, noise=3.0), np.random.default_rng(0)
    told = np.stack([blur.release(np.array([6.0, -8.0], np.float32), 12, rng) for _ in range(20_000)])
    assert told.mean(axis=0) == pytest.approx([1.2, -1.6], abs=0.02)
    assert stats.kstest(told[:, 0] - 1.2, stats.norm(scale=3 * 2 / 12).cdf).pvalue > 1e-3
    short = np.array([0.3, 0.4], np.float32)
    np.testing.assert_allclose(Blur(clip=2.0).release(short, 12, rng), short)


def test_a_blur_spends_what_its_worst_pair_of_neighbors_could_tell():
    """Rényi divergence of order a between the two farthest means is a · ρ; the conversion is the textbook's."""
    blur, samples = Blur(clip=2.0, noise=50.0), 10
    apart, spread = 2 * blur.clip, blur.noise * blur.clip / samples
    rho = apart**2 / (2 * spread**2)
    orders = np.linspace(1.001, 2000, 400_000)
    best = (orders * rho + np.log(1e5) / (orders - 1)).min()
    assert blur.epsilon(samples) == pytest.approx(best, rel=1e-3)
    assert Blur(clip=2.0).epsilon(samples) == 0


@pytest.mark.parametrize("wrong", [{"clip": 0}, {"noise": -1}])
def test_a_blur_refuses_impossible_settings(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Blur(**wrong)
