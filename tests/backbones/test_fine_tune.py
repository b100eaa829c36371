import numpy as np

from coterie.backbones import SGD, FineTune, Prox
from coterie.federation import Steps
from coterie.testing import Toy

STEPS = Steps(epochs=3, lr=0.1)


def test_shares_what_the_inner_backbone_trains():
    toy = Toy(clients=1, seed=1)
    for inner in (SGD(STEPS), Prox(1.0, STEPS)):
        tuned = FineTune(inner, Steps(epochs=1, lr=0.5)).train(toy.local(0))
        assert tuned.personal is not None
        assert not np.array_equal(tuned.personal, tuned.share)
        assert tuned.facts.keys() == {"loss", "loss_rms"}


def test_its_own_model_starts_from_the_one_received():
    toy = Toy(clients=1, seed=1)
    batch = Steps(epochs=1, batch_size=1000, lr=0.5)
    personal = FineTune(SGD(STEPS), batch).train(toy.local(0)).personal
    expected = toy.models[0] - 0.5 * toy.model.gradient(toy.models[0], toy.samples[0]["train"])
    np.testing.assert_allclose(personal, expected, atol=1e-6)


def test_head_only_leaves_the_rest():
    toy = Toy(clients=1, seed=1)
    layout = toy.layout
    local = toy.local(0)
    half = slice(layout.size // 2, layout.size)
    object.__setattr__(local, "layout", type("Halves", (), {"head": half, "size": layout.size})())
    moved = FineTune(SGD(STEPS), head_only=True).train(local).personal != toy.models[0]
    assert not moved[: half.start].any()
    assert moved[half].any()
