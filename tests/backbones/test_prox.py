import numpy as np
import pytest

from coterie.backbones import SGD, Prox
from coterie.federation import Steps
from coterie.testing import Toy

STEPS = Steps(epochs=10, batch_size=4, lr=0.1)


def drift(backbone):
    toy = Toy(clients=1, seed=1)
    return float(np.linalg.norm(backbone.train(toy.local(0)).share - toy.models[0]))


def test_the_stronger_the_pull_the_smaller_the_drift():
    drifts = [drift(Prox(mu, STEPS)) for mu in (0.0, 0.1, 1.0, 5.0)]
    assert drifts == sorted(drifts, reverse=True)
    assert drifts[-1] < 0.5 * drifts[0]


def test_without_pull_it_is_plain_descent():
    assert drift(Prox(0.0, STEPS)) == drift(SGD(STEPS))


def test_two_full_batch_steps_are_the_objective_s():
    toy = Toy(clients=1, seed=1)
    start, samples = toy.models[0], toy.samples[0]["train"]
    share = Prox(0.5, Steps(epochs=2, batch_size=1000, lr=0.3)).train(toy.local(0)).share
    once = start - 0.3 * toy.model.gradient(start, samples)
    twice = once - 0.3 * (toy.model.gradient(once.astype(np.float32), samples) + 0.5 * (once - start))
    np.testing.assert_allclose(share, twice, atol=1e-5)


def test_refuses_a_push():
    with pytest.raises(ValueError, match="mu: must be a finite number from 0, not -1"):
        Prox(-1)
