import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from coterie import seeds
from coterie.trust.telemetry import by_reference, expected_use, objective_trust, printed, tukey_limit
from tests.oracles import trust as oracle

READING = st.one_of(st.integers(0, 12).map(float), st.just(float("nan")))
TRACES = arrays.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(0, 9)), elements=READING)


@settings(max_examples=150, deadline=None)
@given(TRACES)
def test_the_printed_rule_equals_the_algorithm_word_by_word(usage):
    found = printed(usage)
    np.testing.assert_allclose(found, [oracle.printed(device) for device in usage.tolist()], rtol=1e-12)
    assert ((found >= 0) & (found <= 1)).all()


@settings(max_examples=150, deadline=None)
@given(TRACES, st.integers(0, 10**6), st.booleans())
def test_the_reference_rule_equals_a_plain_computation(usage, seed, with_reference):
    dice = np.random.Generator(np.random.PCG64(seed))
    advertised = dice.integers(1, 5, usage.shape[:2]).astype(float)
    reference = np.where(dice.random((*usage.shape[:2], 4)) < 0.2, np.nan, dice.integers(0, 9, (*usage.shape[:2], 4)))
    earlier = reference if with_reference else None
    found = objective_trust(usage, reference=earlier, advertised=advertised)
    plain = oracle.by_reference(usage.tolist(), None if earlier is None else earlier.tolist(), advertised.tolist())
    np.testing.assert_allclose(found, plain, rtol=1e-12)
    assert ((found >= 0) & (found <= 1)).all()


@settings(max_examples=40, deadline=None)
@given(arrays.arrays(np.float32, (3, 2, 7), elements=st.floats(0, 100, width=32, allow_subnormal=False)))
def test_single_precision_is_precise_enough(usage):
    double = usage.astype(np.float64)
    limits = expected_use(double)
    np.testing.assert_allclose(by_reference(usage, limits), by_reference(double, limits), atol=1e-4)
    assert tukey_limit(usage).dtype == np.float32


def test_tukey_limit_agrees_with_numpy_quantiles():
    readings = seeds.rng(1, "readings").random((20, 3, 31))
    first, third = np.quantile(readings, [0.25, 0.75], axis=-1)
    np.testing.assert_allclose(tukey_limit(readings), first - 1.5 * (third - first))


def world(pattern: str, seed: int, hiccups: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """100 devices that use 70 % (10 % noise) of what they advertise; the first 20 are lazy. And a benchmark."""
    dice = seeds.rng(seed, "telemetry", pattern)
    work = dice.normal(0.7, 0.07, (100, 3, 30)).clip(0)
    lazy = {"half the slots": dice.random((20, 1, 30)) < 0.5, "some slots": dice.random((20, 1, 30)) < 0.15}
    factor = np.where(lazy.get(pattern, np.ones((20, 1, 30), bool)), 0.3 if pattern == "always at 30 %" else 0.15, 1.0)
    work[:20] *= factor
    work[20:] *= np.where(dice.random((80, 1, 30)) < hiccups, 0.15, 1.0)
    return work, dice.normal(0.7, 0.07, (100, 3, 30)).clip(0), np.arange(100) < 20


def auc(score: np.ndarray, lazy: np.ndarray) -> float:
    honest, low = score[~lazy], score[lazy]
    return float((honest[:, np.newaxis] > low).mean() + 0.5 * (honest[:, np.newaxis] == low).mean())


@pytest.mark.parametrize("known", ["benchmark", "peers"])
@pytest.mark.parametrize("pattern", ["always at 15 %", "always at 30 %", "half the slots", "some slots"])
def test_the_reference_rule_tells_lazy_devices_from_honest_ones(pattern, known):
    for seed in range(5):
        usage, benchmark, lazy = world(pattern, seed)
        assert auc(objective_trust(usage, reference=benchmark if known == "benchmark" else None), lazy) >= 0.98


def test_the_printed_rule_is_blind_to_devices_that_are_always_lazy():
    always = [auc(printed(usage), lazy) for usage, _, lazy in (world("always at 15 %", seed) for seed in range(20))]
    half = [auc(printed(usage), lazy) for usage, _, lazy in (world("half the slots", seed) for seed in range(20))]
    some = [auc(printed(usage), lazy) for usage, _, lazy in (world("some slots", seed) for seed in range(20))]
    assert np.mean(always) == pytest.approx(0.5, abs=0.05)
    assert np.mean(half) < 0.4
    assert np.mean(some) > 0.9


def test_a_device_that_was_lazy_from_the_start_is_held_to_half_its_peers_use():
    usage = np.concatenate([np.full((9, 3, 10), 0.7), np.full((1, 3, 10), 0.1)])
    assert objective_trust(usage, reference=usage)[-1] == pytest.approx(0.1 / 0.35)


def test_a_small_machine_that_does_its_best_is_trusted():
    usage = np.full((5, 3, 10), 0.7) * np.array([1.0, 1.0, 1.0, 1.0, 0.1])[:, np.newaxis, np.newaxis]
    advertised = np.array([1.0, 1.0, 1.0, 1.0, 0.1])[:, np.newaxis] * np.ones((5, 3))
    assert objective_trust(usage)[-1] == pytest.approx(0.1)
    assert objective_trust(usage, advertised=advertised)[-1] == pytest.approx(1.0)


def test_a_new_device_is_trusted():
    usage = np.full((3, 2, 4), 0.5)
    usage[1] = np.nan
    for rule in ("reference", "printed"):
        assert objective_trust(usage, rule)[1] == 1.0
        assert objective_trust(usage[:, :, :0], rule).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: objective_trust(np.ones((2, 3))), "devices × resources × slots"),
        (lambda: objective_trust(-np.ones((2, 3, 4))), "from 0"),
        (lambda: objective_trust(np.full((2, 3, 4), np.inf)), "from 0"),
        (lambda: objective_trust(np.ones((2, 3, 4)), "own"), "'reference' or 'printed'"),
        (lambda: objective_trust(np.ones((2, 3, 4)), reference=np.ones((2, 2, 4))), "same devices and resources"),
        (lambda: objective_trust(np.ones((2, 3, 4)), advertised=np.zeros((2, 3))), "advertised: must be numbers above 0"),
        (lambda: by_reference(np.ones((2, 3, 4)), np.ones(2)), "limits: must be devices × resources"),
    ],
)
def test_impossible_readings_are_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()
