import numpy as np
import pytest

import coterie.data as data
from coterie.data.sources.regression import groups_of


def test_digits_are_all_there_and_split_alike_everywhere():
    digits = data.load("digits")
    assert (len(digits), len(digits.x_test), digits.shape, digits.classes) == (1438, 359, (1, 8, 8), 10)
    assert np.ptp(np.bincount(digits.y_test)) <= 2 and digits.x.min() >= 0 and digits.x.max() == 1
    assert digits.fingerprint == data.load("digits").fingerprint


def test_synthetic_clients_differ_by_alpha_and_beta():
    def spread(alpha, beta):
        made = data.synthetic(alpha, beta, clients=60, sizes="equal", seed=2)
        means = np.array([made.x[made.owners == k].mean() for k in range(60)])
        labels = np.array([np.bincount(made.y[made.owners == k], minlength=10) for k in range(60)])
        return means.std(), (labels.max(axis=1) / labels.sum(axis=1)).mean()

    assert spread(0, 2)[0] > 3 * spread(0, 0)[0]
    assert spread(0, 2)[0] == pytest.approx(2, rel=0.25), "β is a standard deviation"


def test_synthetic_inputs_have_the_recipes_covariance():
    made = data.synthetic(1, 1, clients=40, sizes="equal", seed=1)
    inside = np.mean([made.x[made.owners == k].var(axis=0, dtype=float) for k in range(40)], axis=0)
    assert inside == pytest.approx(np.arange(1, 61) ** -1.2, rel=0.1)


def test_synthetic_sizes_and_splits():
    equal = data.synthetic(clients=7, sizes="equal")
    assert np.bincount(equal.owners).tolist() == [400] * 7 and np.bincount(equal.owners_test).tolist() == [100] * 7
    drawn = data.synthetic(clients=300, seed=1)
    sizes = np.bincount(drawn.owners) + np.bincount(drawn.owners_test)
    assert sizes.min() >= 50 and np.median(sizes - 50) == pytest.approx(np.exp(4), rel=0.4)
    assert not np.array_equal(drawn.x[:10], data.synthetic(clients=300, seed=2).x[:10])


@pytest.mark.parametrize(("dims", "error"), [(1, 7.2), (2, 0.0588)])
def test_the_best_line_has_the_error_of_the_source(dims, error):
    """E[(θ−θ̄)·x]² is σ²·E‖x‖²: 1.44 × 5 and 0.0196 × 3."""
    task = data.regression(dims, 1, clients=300, samples=400, seed=1)
    theta = {1: [3.6], 2: [0.5, 0.7]}[dims]
    assert ((task.y - task.x @ theta) ** 2).mean() == pytest.approx(error, rel=0.05)
    assert np.linalg.lstsq(task.x, task.y, rcond=None)[0] == pytest.approx(theta, rel=0.03)


def test_two_groups_have_opposite_lines():
    task = data.regression(1, 2, clients=30, samples=500, seed=3)
    slopes = np.array(
        [(task.x[task.owners == k, 0] @ task.y[task.owners == k]) / (task.x[task.owners == k] ** 2).sum() for k in range(30)]
    )
    assert np.array_equal(slopes < 0, groups_of(2, 30, 3) == 1) and np.abs(slopes) == pytest.approx(3.6, rel=0.15)
    assert 0 < groups_of(2, 30, 3).sum() < 30 and groups_of(1, 30, 3).sum() == 0


def test_even_groups_are_as_large_as_each_other_and_drawn_anew_with_each_seed():
    task = data.regression(1, 2, clients=30, samples=500, even=True, seed=3)
    falling = np.array([(task.x[task.owners == k, 0] @ task.y[task.owners == k]) < 0 for k in range(30)])
    assert falling.sum() == 15 and np.array_equal(falling, groups_of(2, 30, 3, even=True) == 1)
    assert not np.array_equal(groups_of(2, 30, 3, even=True), groups_of(2, 30, 4, even=True))


def test_generated_sets_load_by_name():
    assert data.load("synthetic", clients=5, seed=9).fingerprint == data.synthetic(clients=5, seed=9).fingerprint
    named = data.load("synthetic(0.5, 0.5, sizes='equal')", clients=4)
    assert named.name == "synthetic(0.5, 0.5)" and len(named) == 1600
    assert data.load("regression(2, 1)", clients=3).shape == (2,)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("synthetic(1", "cannot be read"),
        ("synthetic(x)", "cannot be read"),
        ("synthetic(__import__('os'))", "cannot be read"),
        ("synthetic(1, 1, colour=3)", "unexpected keyword"),
        ("synthetic(-1, 1)", "alpha"),
        ("synthetic(1, 1, sizes='odd')", "sizes"),
        ("regression(3)", "dims must be 1 or 2"),
        ("regression(1, 5)", "groups 1 or 2"),
        ("digits(3)", "takes no arguments"),
    ],
)
def test_bad_names_are_refused(name, said):
    with pytest.raises(ValueError, match=said):
        data.load(name, clients=3)
