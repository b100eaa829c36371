import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.backbones import DisPfl
from coterie.backbones.dis_pfl import densities, exchanged, largest
from coterie.federation import Layout, Steps
from coterie.testing import Toy

LAYOUT = Layout(("0.weight", "0.bias", "1.weight", "1.bias"), ((20, 30), (20,), (5, 20), (5,)))
STEPS = Steps(epochs=2, batch_size=4, lr=0.1)


@given(st.floats(0.01, 1))
def test_densities_add_up_and_are_higher_in_smaller_layers(density):
    found = densities(LAYOUT, density)
    assert sum(found[name] * size for name, size in [("0.weight", 600), ("1.weight", 100)]) == pytest.approx(density * 700)
    assert 0 <= found["0.weight"] <= found["1.weight"] <= 1 + 1e-12


def test_the_first_mask_keeps_the_largest_weights_and_every_bias():
    model = np.arange(LAYOUT.size, dtype=np.float32) - 300
    mask = largest(model, LAYOUT, {"0.weight": 0.5, "1.weight": 0.2})
    assert mask[600:620].all() and mask[720:].all() and mask.sum() == 300 + 20 + 20 + 5
    assert np.abs(model[:600][mask[:600]]).min() >= np.abs(model[:600][~mask[:600]]).max()


@given(st.integers(1, 12), st.floats(0, 1), st.integers(0, 99))
def test_an_exchange_leaves_as_many_weights_in_use(size, rate, seed):
    rng = np.random.default_rng(seed)
    weights, gradient, used = rng.standard_normal(size), rng.random(size), rng.random(size) < 0.6
    mask = exchanged(weights, gradient, used, rate)
    assert mask.sum() == used.sum()
    gone, new = used & ~mask, mask & ~used
    if gone.any():
        assert np.abs(weights[gone]).max() <= np.abs(weights[used & mask]).min(initial=np.inf)
        assert gradient[new].min() >= gradient[~used & ~mask].max(initial=-np.inf)


def test_a_model_stays_under_its_mask_which_changes_ever_less():
    toy, backbone = Toy(3, seed=2, features=8, classes=6), DisPfl(0.5, 0.5, 10, STEPS)
    changes = []
    for t in range(1, 12):
        trained = backbone.train(toy.local(0, t=t))
        if t > 1:
            changes.append(int((trained.keep["mask"] != toy.kept[0]["mask"]).sum()))
        weights, mask = toy.layout.slices["linear.weight"], trained.keep["mask"] > 0
        assert mask[weights].sum() == 24 and not trained.share[~mask].any()
        toy.kept[0] = dict(trained.keep)
    exchanges = [int(np.ceil(24 * 0.5 / 2 * (1 + np.cos(np.pi * min(t, 10) / 10)))) for t in range(2, 12)]
    assert changes == [2 * count for count in exchanges] and changes[0] == 22 and changes[-1] == 0


def test_what_is_received_is_cut_to_the_mask():
    toy, backbone = Toy(3, seed=2), DisPfl(0.5, 0.0, 10, STEPS)
    toy.kept[0] = dict(backbone.train(toy.local(0)).keep)
    away = toy.kept[0]["mask"] == 0
    once = backbone.train(toy.local(0)).share
    toy.models = toy.models + away.astype(np.float32)
    assert np.array_equal(backbone.train(toy.local(0)).share, once)


@pytest.mark.parametrize("wrong", [{"density": 0}, {"anneal": 2}, {"rounds": 0}])
def test_refuses_impossible_settings(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        DisPfl(**wrong)
