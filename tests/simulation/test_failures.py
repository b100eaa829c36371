import numpy as np
import pytest

from coterie.simulation.failures import Failures


def test_failures_come_at_their_rates():
    failures = Failures((0.1, 0.2, 0.05), 0)
    stages = np.concatenate([failures.stage(1, t, 500) for t in range(1, 101)])
    np.testing.assert_allclose(np.bincount(stages + 1) / len(stages), [0.65, 0.1, 0.2, 0.05], atol=0.01)


def test_certain_failure_spares_nobody():
    assert (Failures((0.0, 1.0, 0.0), 0).stage(1, 1, 50) == 1).all()


@pytest.mark.parametrize("recovery", [1, 3])
def test_a_failed_client_stays_away_for_some_rounds(recovery):
    """A failure with nobody failing after it: how long one is away is uniform around its mean."""
    failures = Failures((0.02, 0.0, 0.0), recovery)
    fell = np.stack([failures.stage(4, t, 4000) >= 0 for t in range(1, 12)])
    away = np.stack([failures.away(4, t, 4000) for t in range(1, 12)])
    once = fell[1] & (fell.sum(axis=0) == 1)
    assert not away[:2, once].any()
    lengths = away[2:, once].sum(axis=0)
    assert set(lengths) == set(range(1, 2 * recovery))
    assert lengths.mean() == pytest.approx(recovery, abs=0.5)
    for length, column in zip(lengths, away[2:, once].T, strict=True):
        assert column[:length].all()


def test_without_recovery_time_a_client_is_back_at_once():
    assert not Failures((1.0, 0.0, 0.0), 0).away(1, 5, 10).any()
