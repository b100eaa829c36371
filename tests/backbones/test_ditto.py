import numpy as np
import pytest

from coterie.backbones import SGD, Ditto
from coterie.federation import Steps
from coterie.testing import Toy

STEPS = Steps(epochs=2, batch_size=4, lr=0.1)


def test_shares_what_the_inner_backbone_trains_and_keeps_a_model_of_its_own():
    toy = Toy(3, seed=1)
    trained = Ditto(0.5, SGD(STEPS), STEPS).train(toy.local(0))
    assert set(trained.keep) == {"own"} and np.array_equal(trained.keep["own"], trained.personal)
    expected = Ditto(0.5, SGD(STEPS), STEPS).train(toy.local(0))
    assert np.array_equal(trained.share, expected.share) and not np.allclose(trained.share, trained.personal)


def test_goes_on_from_its_own_model_with_a_pull_to_the_one_received():
    toy = Toy(3, seed=1)
    toy.kept[0] = {"own": np.full(toy.layout.size, 2.0, np.float32)}
    one_step = Steps(epochs=1, batch_size=10**6, lr=0.1)
    local = toy.local(0)
    trained = Ditto(0.7, SGD(STEPS), one_step).train(local)
    own = toy.kept[0]["own"]
    gradient = toy.model.gradient(own, toy.samples[0]["train"]) + 0.7 * (own - local.model)
    np.testing.assert_allclose(trained.personal, own - 0.1 * gradient, atol=1e-5)


def test_no_pull_is_learning_alone_whatever_is_received():
    toy = Toy(3, seed=1)
    toy.kept[0] = {"own": np.ones(toy.layout.size, np.float32)}
    here = Ditto(0.0, SGD(STEPS), STEPS).train(toy.local(0)).personal
    toy.models = toy.models + 1
    assert np.array_equal(Ditto(0.0, SGD(STEPS), STEPS).train(toy.local(0)).personal, here)


def test_refuses_to_push():
    with pytest.raises(ValueError, match="pull: must be a finite number from 0, not -1"):
        Ditto(-1)
