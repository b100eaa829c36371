"""What the readings of the threshold are worth, on regressions whose true threshold is known."""

from functools import cache

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from coterie import seeds
from coterie.coalitions.threshold import by_function, by_parameters


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


@cache
def regression(run, dimension, truth, noise=4.0, scale=1.0, clients=21):
    """Exact fits of linear regressions with μ_e/σ² = truth, and what clients would report: sizes, gaps, spreads, losses."""
    dice = seeds.rng(run, "threshold", dimension, int(truth))
    shared = dice.normal(size=dimension)
    sizes = dice.integers(2 * dimension + 10, 6 * dimension + 40, clients)
    fits, data = [], []
    for n in sizes.tolist():
        own = shared + dice.normal(0, np.sqrt(noise / truth), dimension)
        x, y = {}, {}
        for split, count in (("train", n), ("held", max(n // 4, 2))):
            raw = dice.normal(size=(count, dimension))
            x[split], y[split] = scale * raw, raw @ own + dice.normal(0, np.sqrt(noise), count)
        fits.append(np.linalg.lstsq(x["train"], y["train"], rcond=None)[0])
        data.append((x, y))
    models = np.array(fits)
    losses = {
        split: np.array([np.mean((y[split] - x[split] @ f) ** 2) for (x, y), f in zip(data, fits, strict=True)])
        for split in ("train", "held")
    }
    spreads = np.array([(x["held"] @ models.T).var(axis=1, ddof=1).mean() for x, _ in data])
    return sizes.astype(float), (losses["held"] - losses["train"]) / 2, spreads, losses["train"], models


def thresholds(reading, dimension, truth, **how):
    found = []
    for run in range(10):
        sizes, gaps, spreads, losses, models = regression(run, dimension, truth, **how)
        if reading in ("sum", "per-coordinate"):
            seen = by_parameters(losses, models, reading)
            found.append(seen.noise / seen.variance)
        else:
            seen = by_function(sizes, gaps, spreads)
            noise = (losses + gaps).mean() * dimension if reading == "linear" else seen.noise
            found.append(noise / max(seen.variance, 1e-4))
    return np.median(found)


@pytest.mark.parametrize("reading", ["function", "linear"])
@pytest.mark.parametrize("dimension", [20, 50])
@pytest.mark.parametrize("truth", [50.0, 200.0])
def test_the_reading_of_predictions_comes_within_a_third_of_the_truth(reading, dimension, truth):
    assert truth / 1.3 <= thresholds(reading, dimension, truth) <= truth * 1.3


def test_the_printed_reading_is_no_number_of_samples():
    assert thresholds("sum", 20, 50.0) < 5
    assert thresholds("sum", 50, 50.0) < 0.6 * thresholds("sum", 20, 50.0), "it falls with the number of parameters"


@pytest.mark.parametrize(("reading", "factor"), [("sum", 100), ("per-coordinate", 100), ("function", 1), ("linear", 1)])
def test_only_readings_of_parameters_change_with_the_units_of_the_inputs(reading, factor):
    ratio = thresholds(reading, 20, 50.0, scale=10.0) / thresholds(reading, 20, 50.0)
    assert ratio == pytest.approx(factor, rel=1e-3)


def test_one_model_has_no_variance():
    assert by_parameters(np.array([1.0]), np.ones((1, 3))).variance == 0
