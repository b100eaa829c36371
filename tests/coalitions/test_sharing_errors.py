import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import seeds
from coterie.coalitions import sharing_errors as errors

SIZES = st.lists(st.integers(1, 200), min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [((5, 5, 5), (1.3333, 1.3333, 1.3333)), ((5, 5, 25), (1.551, 1.551, 0.408)), ((25, 25, 25), (0.8, 0.8, 0.8))],
)
def test_worked_numbers_of_uniform_sharing(sizes, expected):
    found = errors.uniform(sizes, errors.by_mean(sizes, noise=10), variance=1)
    np.testing.assert_allclose(found, expected, atol=5e-4)


def test_worked_numbers_alone_and_coarse():
    np.testing.assert_allclose(errors.by_mean([25], noise=10), [0.4])
    pair = [30, 300]
    np.testing.assert_allclose(errors.coarse(pair, errors.by_mean(pair, noise=10), 1.0), [0.286385, 0.032864], atol=5e-7)


@settings(max_examples=60, deadline=None)
@given(SIZES, st.floats(0.1, 100), st.floats(0.01, 10), st.floats(0, 1))
def test_every_way_of_sharing_is_a_mixture(sizes, noise, variance, w):
    local = errors.by_mean(sizes, noise)
    mean = np.broadcast_to(np.array(sizes) / sum(sizes), (len(sizes), len(sizes)))
    np.testing.assert_allclose(errors.uniform(sizes, local, variance), errors.mixed(mean, local, variance))
    half = w * np.eye(len(sizes)) + (1 - w) * mean
    np.testing.assert_allclose(
        errors.coarse(sizes, local, variance, np.full(len(sizes), w)), errors.mixed(half, local, variance)
    )
    best = errors.fine_weights(local, variance)
    np.testing.assert_allclose(best.sum(axis=1), 1)
    np.testing.assert_allclose(errors.fine(local, variance), errors.mixed(best, local, variance), rtol=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(5, 200), min_size=1, max_size=6), st.booleans(), st.integers(0, 10**6))
def test_no_other_weights_do_better_than_the_best(sizes, regression, seed):
    local = errors.by_regression(sizes, 3.0, 2) if regression else errors.by_mean(sizes, 3.0)
    dice = np.random.Generator(np.random.PCG64(seed))
    coarse, fine = errors.coarse(sizes, local, 0.2), errors.fine(local, 0.2)
    for w in np.linspace(0, 1, 21):
        assert (errors.coarse(sizes, local, 0.2, np.full(len(sizes), w)) >= coarse * (1 - 1e-12)).all()
    for _ in range(20):
        nudge = errors.fine_weights(local, 0.2) + dice.normal(0, 0.1, (len(sizes), len(sizes)))
        nudge /= nudge.sum(axis=1, keepdims=True)
        assert (errors.fine(local, 0.2, nudge) >= fine * (1 - 1e-12)).all()
    assert (fine <= coarse * (1 + 1e-12)).all()
    assert (coarse <= np.minimum(local, errors.uniform(sizes, local, 0.2)) * (1 + 1e-12)).all()


def test_the_printed_closed_forms_of_the_best_weights():
    sizes, noise, variance = np.array([4.0, 9.0, 30.0]), 10.0, 0.7
    local, apart = noise / sizes, errors.apart(sizes)
    a = noise * (1 / sizes - 1 / sizes.sum())
    np.testing.assert_allclose(errors.coarse_weights(sizes, local, variance), apart * variance / (apart * variance + a))
    np.testing.assert_allclose(
        errors.coarse(sizes, local, variance), noise / sizes.sum() + a * apart * variance / (a + apart * variance)
    )


def test_mean_estimation_agrees_with_monte_carlo():
    sizes, noise, variance, runs = np.array([3, 5, 12]), 10.0, 1.5, 400_000
    dice = seeds.rng(1, "mean estimation")
    truth = dice.normal(2.0, np.sqrt(variance), (runs, 3))
    samples = [truth[:, [j]] + dice.normal(0, np.sqrt(noise), (runs, n)) for j, n in enumerate(sizes)]
    estimates = np.column_stack([drawn.mean(axis=1) for drawn in samples])
    local = errors.by_mean(sizes, noise)
    mean = np.broadcast_to(sizes / sizes.sum(), (3, 3))
    w = errors.coarse_weights(sizes, local, variance)[:, np.newaxis]
    for weights, expected in [
        (np.eye(3), local),
        (mean, errors.uniform(sizes, local, variance)),
        (w * np.eye(3) + (1 - w) * mean, errors.coarse(sizes, local, variance)),
        (errors.fine_weights(local, variance), errors.fine(local, variance)),
    ]:
        seen = ((estimates @ weights.T - truth) ** 2).mean(axis=0)
        np.testing.assert_allclose(seen, expected, rtol=0.02)


def test_linear_regression_agrees_with_monte_carlo():
    sizes, noise, runs, dimension = np.array([12, 20, 40]), 4.0, 40_000, 2
    scale, variances = np.array([1.0, 2.0]), np.array([0.5, 0.1])
    dice = seeds.rng(1, "regression")
    truth = dice.normal(0, np.sqrt(variances), (runs, 3, dimension))
    estimates = np.empty_like(truth)
    for j, n in enumerate(sizes):
        x = dice.normal(0, scale, (runs, n, dimension))
        y = np.einsum("rnd,rd->rn", x, truth[:, j]) + dice.normal(0, np.sqrt(noise), (runs, n))
        square = np.einsum("rnd,rne->rde", x, x)
        estimates[:, j] = np.linalg.solve(square, np.einsum("rnd,rn->rd", x, y)[..., np.newaxis])[..., 0]
    local, spread = errors.by_regression(sizes, noise, dimension), float((scale**2 * variances).sum())
    mean = np.broadcast_to(sizes / sizes.sum(), (3, 3))
    w = errors.coarse_weights(sizes, local, spread)[:, np.newaxis]
    for weights, expected in [
        (np.eye(3), local),
        (mean, errors.uniform(sizes, local, spread)),
        (w * np.eye(3) + (1 - w) * mean, errors.coarse(sizes, local, spread)),
        (errors.fine_weights(local, spread), errors.fine(local, spread)),
    ]:
        wrong = np.einsum("jk,rkd->rjd", weights, estimates) - truth
        np.testing.assert_allclose((wrong**2 @ scale**2).mean(axis=0), expected, rtol=0.02)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: errors.by_mean([3, 0], 1.0), "sizes: must be one number above 0"),
        (lambda: errors.by_mean([3, np.nan], 1.0), "sizes"),
        (lambda: errors.by_mean([3], 0.0), "noise: must be a number above 0"),
        (lambda: errors.by_regression([3, 9], 1.0, 2), "needs more than 3 samples"),
        (lambda: errors.fine([1.0], 0.0), "variance"),
        (lambda: errors.mixed(np.ones((2, 2)), [1.0, 1.0], 1.0), "sum to 1"),
    ],
)
def test_impossible_numbers_are_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()
