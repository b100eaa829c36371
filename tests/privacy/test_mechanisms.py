"""What leaves a client stays within e^ε, shown by counting; and broken mechanisms are caught by the same count."""

import numpy as np
import pytest
from scipy import stats

from coterie import seeds
from coterie.privacy.mechanisms import release, simple, vetted
from coterie.report import Bounded, Report

MOST = 100.0


def leaks(mechanism, one, other, epsilon, draws, bins=40):
    """The p-value, over all bins, of ever more than e^ε times as many outputs of one input as of its neighbor.

    If P(bin | one) ≤ e^ε P(bin | other), then of the outputs in the bin those of `one` are at most e^ε/(1 + e^ε).
    """
    samples = [np.asarray(mechanism(np.full((draws, len(value)), value))) for value in (one, other)]
    names = [np.unique(np.concatenate([s[:, i] for s in samples])) for i in range(len(one))]
    edges = [np.quantile(name, np.linspace(0, 1, bins + 1)[1:-1]) if len(name) > bins else name[1:] for name in names]
    cells = [
        np.ravel_multi_index([np.digitize(s[:, i], e) for i, e in enumerate(edges)], [bins + 1] * len(one)) for s in samples
    ]
    counts = [np.bincount(cell, minlength=(bins + 1) ** len(one)) for cell in cells]
    both, most = counts[0] + counts[1], np.exp(epsilon) / (1 + np.exp(epsilon))
    tails = [stats.binom.sf(count - 1, both, most) for count in counts]
    return float(np.min(tails) * 2 * len(both))


def released(noise, epsilon, count=1):
    numbers = tuple(Bounded(name, 0, MOST, epsilon / count) for name in ("size", "loss")[:count])
    return lambda values: release(Report(numbers, noise=noise), values, seeds.rng(1, "release", str(values[0])))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("pair", [(0.0, MOST), (0.0, 1e9), (-50.0, MOST), (30.0, 31.0), (float("nan"), MOST)])
def test_a_report_stays_within_its_epsilon(epsilon, pair):
    assert leaks(released("simple", epsilon), [pair[0]], [pair[1]], epsilon, draws=1_000_000) > 1e-4


def test_several_numbers_together_stay_within_their_epsilon():
    assert leaks(released("simple", 1.0, 2), [0.0, 0.0], [MOST, MOST], 1.0, draws=300_000, bins=12) > 1e-4


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_vetted_mechanism_stays_within_its_epsilon(epsilon):
    pytest.importorskip("opendp")
    assert leaks(released("vetted", epsilon), [0.0], [MOST], epsilon, draws=4_000, bins=8) > 1e-4


def halved(values):
    return simple(values, np.array([MOST / 2.0]), seeds.rng(1, "halved"))


def unclipped(values):
    return simple(values, np.array([MOST]), seeds.rng(1, "unclipped"))


def one_sided(values):
    return values + seeds.rng(1, "one-sided").exponential(MOST, values.shape)


def gaussian(values):
    return values + seeds.rng(1, "gaussian").normal(0, MOST / 2, values.shape)


def noise_by_value(values):
    return values + seeds.rng(1, "by value").laplace(size=values.shape) * (MOST - 0.5 * values)


def sometimes_exact(values):
    dice = seeds.rng(1, "sometimes")
    return np.where(dice.random(values.shape) < 0.01, values, values + dice.laplace(0, MOST, values.shape))


def clipped_after(values):
    return np.clip(simple(values, np.array([MOST / 4.0]), seeds.rng(1, "after")), 0, MOST)


@pytest.mark.parametrize("broken", [halved, one_sided, gaussian, noise_by_value, sometimes_exact, clipped_after])
def test_broken_mechanisms_are_caught(broken):
    assert leaks(broken, [0.0], [MOST], 1.0, draws=1_000_000) < 1e-6


def test_a_mechanism_that_forgets_the_bounds_is_caught():
    assert leaks(unclipped, [0.0], [3 * MOST], 1.0, draws=1_000_000) < 1e-6
    whole = released("simple", 2.0, 2)
    assert leaks(whole, [0.0, 0.0], [MOST, MOST], 1.0, draws=300_000, bins=12) < 1e-6, "each number spent the whole budget"


def test_the_vetted_mechanism_with_half_the_noise_is_caught():
    pytest.importorskip("opendp")
    assert leaks(lambda values: vetted(values, np.array([MOST / 4])), [0.0], [MOST], 1.0, draws=4_000, bins=8) < 1e-6


def test_both_mechanisms_draw_the_same_noise():
    pytest.importorskip("opendp")
    zeros = np.zeros((3_000, 1))
    ours, theirs = (m.ravel() for m in (simple(zeros, np.array([3.0]), seeds.rng(2, "x")), vetted(zeros, np.array([3.0]))))
    assert stats.ks_2samp(ours, theirs).pvalue > 1e-4
    assert stats.kstest(theirs, stats.laplace(scale=3.0).cdf).pvalue > 1e-4


def test_the_last_bits_of_vetted_noise_do_not_give_the_value_away():
    """What the textbook makes of 1 near 0 is always a multiple of 2⁻⁵³, and what it makes of 0 is not (Mironov, 2012)."""
    pytest.importorskip("opendp")
    textbook = simple(np.ones((200_000, 1)), np.array([1.0]), seeds.rng(1, "bits")).ravel()
    theirs = vetted(np.ones((3_000, 1)), np.array([1.0])).ravel()

    def coarse(outputs):
        near = outputs[(outputs > 0) & (outputs < 1 / 8)]
        return (np.mod(near, 2.0**-53) == 0).mean()

    assert coarse(textbook) == 1.0
    assert coarse(simple(np.zeros((200_000, 1)), np.array([1.0]), seeds.rng(1, "bits")).ravel()) < 0.5
    assert coarse(theirs) < 0.5


def test_exact_numbers_are_only_put_into_their_bounds():
    report = Report((Bounded("size", 0, 10), Bounded("loss", 1, 2, epsilon=1.0)))
    for noise in ("simple", "vetted"):
        told = release(Report(report.numbers, noise=noise), np.array([40.0, 9.0]), seeds.rng(1))
        assert told[0] == 10.0
        assert told[1] != 2.0
