import numpy as np

from coterie.backbones import SGD
from coterie.federation import Steps
from coterie.testing import Toy


def test_descends_from_the_model_received_and_tells_its_losses():
    toy = Toy(clients=2, seed=1)
    trained = SGD(Steps(epochs=8, lr=0.2)).train(toy.local(0))
    loss = [toy.model.losses(model, toy.samples[0]["train"]).mean() for model in (toy.models[0], trained.share)]
    assert loss[1] < 0.7 * loss[0]
    assert 0 < trained.facts["loss"] <= trained.facts["loss_rms"]
    assert not trained.keep
    assert trained.personal is None


def test_one_full_batch_step_is_the_gradient():
    toy = Toy(clients=1, seed=1)
    steps = Steps(epochs=1, batch_size=1000, lr=0.5, weight_decay=0.1)
    moved = SGD(steps).train(toy.local(0)).share - toy.models[0]
    gradient = toy.model.gradient(toy.models[0], toy.samples[0]["train"])
    np.testing.assert_allclose(moved, -0.5 * (gradient + 0.1 * toy.models[0]), atol=1e-6)
