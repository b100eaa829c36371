import numpy as np

from coterie import play
from coterie.aggregators import Mean
from coterie.backbones import SGD, FedBN
from coterie.backbones.fed_bn import normalization
from coterie.federation import Layout, Steps
from coterie.recipe import Central
from coterie.selectors import Uniform
from coterie.testing import Toy
from tests.simulation.small import small

STEPS = Steps(epochs=1, batch_size=10, lr=0.1)
BACKBONE = FedBN(SGD(STEPS))


def trained_twice(fed, others=0.0):
    """What client 0 trains in a second round, in which the received model's normalization is moved by `others`."""
    own = normalization(fed.layout)
    first = next(iter(play(Central(BACKBONE, Mean(), Uniform(6)), fed, rounds=1)))
    kept = fed.homes.kept[0]["normalization"].copy()
    fed.models = np.where(own, fed.models + np.float32(others), fed.models)
    next(iter(play(Central(BACKBONE, Mean(), Uniform(6)), fed, rounds=2, state=first.state)))
    return kept, fed.homes.kept[0]["normalization"], fed.homes.personal[0]


def test_normalization_stays_at_home_and_the_rest_is_shared():
    with small(model="mlp-bn") as fed:
        before, own = fed.models[0].copy(), normalization(fed.layout)
        list(play(Central(BACKBONE, Mean(), Uniform(6)), fed, rounds=2))
        assert 0 < own.sum() < fed.layout.size
        assert np.array_equal(fed.models[0][own], before[own]) and not np.allclose(fed.models[0][~own], before[~own])
        drawers = [fed.homes.kept[k]["normalization"] for k in range(6)]
        assert all(len(drawer) == own.sum() for drawer in drawers)
        assert len({drawer.tobytes() for drawer in drawers}) == 6
        for k in range(6):
            assert np.array_equal(fed.homes.personal[k][own], drawers[k])


def test_a_client_goes_on_from_its_own_normalization_whatever_it_receives():
    with small(model="mlp-bn") as one, small(model="mlp-bn") as other:
        plain, moved = trained_twice(one), trained_twice(other, others=5.0)
    for here, there in zip(plain, moved, strict=True):
        assert np.array_equal(here, there)


def test_without_normalization_it_is_the_inner_backbone():
    toy = Toy(3, seed=1)
    trained, plain = BACKBONE.train(toy.local(0)), SGD(STEPS).train(toy.local(0))
    assert np.array_equal(trained.share, plain.share) and np.array_equal(trained.personal, plain.share)
    assert trained.keep["normalization"].size == 0


def test_only_layers_with_running_statistics_are_normalization():
    names = ("0.weight", "1.weight", "1.running_mean", "2.weight")
    layout = Layout(names, ((2, 1), (2,), (2,), (1, 2)), frozenset({"1.running_mean"}))
    assert normalization(layout).astype(int).tolist() == [0, 0, 1, 1, 1, 1, 0, 0]
    assert not normalization(Layout(("0.weight",), ((4,),))).any()
