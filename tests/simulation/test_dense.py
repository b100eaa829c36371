import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from coterie.federation import Steps
from coterie.simulation.chain import Chain, chain_of
from coterie.simulation.dense import DensePath
from coterie.simulation.flat import flatten
from coterie.simulation.general import GeneralPath
from coterie.simulation.models import path_for
from coterie.simulation.ways import ByProducts
from tests.oracles import descent

CLASSES = 4


def samples(count, features=6, seed=0, classes=CLASSES):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, features)).astype(np.float32)
    y = rng.integers(classes, size=count) if classes else rng.normal(size=count).astype(np.float32)
    return x, y


def orders(count, epochs, seed=0):
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(count) for _ in range(epochs)])


def loaded(path, model):
    """The module that a flat model is."""
    module = path.build()
    with torch.no_grad():
        for name, array in module.named_parameters():
            array.copy_(torch.tensor(path.layout.split(model)[name]))
    return module


@given(
    count=st.integers(1, 40),
    features=st.integers(1, 30),
    hidden=st.lists(st.integers(1, 7), max_size=3),
    epochs=st.integers(1, 6),
    batch_size=st.integers(1, 45),
    max_steps=st.none() | st.integers(1, 30),
    momentum=st.sampled_from([0.0, 0.5]),
    weight_decay=st.sampled_from([0.0, 0.01]),
    seed=st.integers(0, 2**20),
)
@settings(max_examples=60, deadline=None)
def test_descends_as_a_plain_loop(count, features, hidden, epochs, batch_size, max_steps, momentum, weight_decay, seed):
    model = f"mlp:{'-'.join(map(str, hidden))}" if hidden else "linear"
    path = path_for(model, (features,), CLASSES)
    assert isinstance(path, DensePath)
    (x, y), order, start = samples(count, features, seed), orders(count, epochs, seed), path.initial(seed)
    steps = Steps(batch_size=batch_size, momentum=momentum, weight_decay=weight_decay, max_steps=max_steps)
    end = path.descend(start, x, y, order, steps, 0.1)
    twin, losses = descent.descend(
        loaded(path, start), x, y, order, batch_size, 0.1, momentum=momentum, weight_decay=weight_decay, max_steps=max_steps
    )
    np.testing.assert_allclose(end.model, flatten(twin), atol=1e-5)
    assert end.loss == pytest.approx(np.mean(losses), abs=1e-5)
    assert end.loss_rms == pytest.approx(np.sqrt(np.mean(np.square(losses))), abs=1e-5)


@pytest.mark.parametrize("count", [8, 60])
def test_both_ways_are_taken_and_agree(count):
    path = path_for("mlp:16-5", (200,), CLASSES)
    (x, y), order, start = samples(count, 200), orders(count, 5), path.initial(1)
    assert ByProducts.pays(path.chain, count, 5)
    by_products = path.descend(start, x, y, order, Steps(batch_size=16, momentum=0.3), 0.05)
    path._way = lambda x, epochs: DensePath._way(path, x, 0)
    by_weights = path.descend(start, x, y, order, Steps(batch_size=16, momentum=0.3), 0.05)
    np.testing.assert_allclose(by_products.model, by_weights.model, atol=1e-5)
    assert not np.array_equal(by_products.model, by_weights.model), "the same way twice"
    assert by_products.loss == pytest.approx(by_weights.loss, abs=1e-5)


def test_proximal_pull_is_that_of_the_loss():
    path = path_for("mlp:5", (6,), CLASSES)
    (x, y), order, start, other = samples(20), orders(20, 3), path.initial(1), path.initial(2)
    end = path.descend(start, x, y, order, Steps(batch_size=8, weight_decay=0.01), 0.1, toward=other, pull=0.7)
    twin, losses = descent.descend(
        loaded(path, start), x, y, order, 8, 0.1, weight_decay=0.01, toward=loaded(path, other), pull=0.7
    )
    np.testing.assert_allclose(end.model, flatten(twin), atol=1e-5)
    assert end.loss == pytest.approx(np.mean(losses), abs=1e-5), "the pull is no part of the loss"


@pytest.mark.parametrize("kept", ["1.", "3."])
def test_only_what_is_named_moves(kept):
    path = path_for("mlp:5", (6,), CLASSES)
    (x, y), order, start = samples(20), orders(20, 3), path.initial(1)
    only = np.zeros(path.layout.size, bool)
    for name, where in path.layout.slices.items():
        only[where] = name.startswith(kept)
    end = path.descend(start, x, y, order, Steps(batch_size=8, momentum=0.5, weight_decay=0.1), 0.1, only=only)
    twin, _ = descent.descend(
        loaded(path, start), x, y, order, 8, 0.1, momentum=0.5, weight_decay=0.1, only=lambda name: name.startswith(kept)
    )
    np.testing.assert_allclose(end.model, flatten(twin), atol=1e-5)
    assert np.array_equal(end.model[~only], start[~only]) and 0 < only.sum() < only.size


@pytest.mark.parametrize("shape, hidden", [((1,), ""), ((2,), ""), ((2,), "mlp:4")])
def test_regression_is_that_of_a_plain_loop(shape, hidden):
    path = path_for(hidden or "linear", shape, 0)
    assert isinstance(path, DensePath)
    (x, y), order, start = samples(25, shape[0], classes=0), orders(25, 4), path.initial(3)
    end = path.descend(start, x, y, order, Steps(batch_size=10), 0.05)
    twin, losses = descent.descend(loaded(path, start), x, y[:, None], order, 10, 0.05, criterion=nn.functional.mse_loss)
    np.testing.assert_allclose(end.model, flatten(twin), atol=1e-5)
    assert end.loss == pytest.approx(np.mean(losses), abs=1e-5)
    np.testing.assert_allclose(path.losses(start, x, y), np.square(path.outputs(start, x)[:, 0] - y), rtol=1e-5)


@pytest.mark.parametrize("count", [1, 3, 1300])
def test_answers_are_those_of_the_general_path(count):
    path = path_for("mlp:5:dropout=0.5", (6,), CLASSES)
    general, model, (x, y) = GeneralPath(path.build), path.initial(4), samples(count)
    np.testing.assert_allclose(path.outputs(model, x), general.outputs(model, x), atol=1e-6)
    np.testing.assert_allclose(path.losses(model, x, y), general.losses(model, x, y), atol=1e-5)
    np.testing.assert_allclose(path.gradient(model, x, y), general.gradient(model, x, y), atol=1e-6)
    np.testing.assert_allclose(path.gradient(model, x, y), descent.gradient(loaded(path, model), x, y), atol=1e-6)


def test_no_samples_have_no_losses():
    path = path_for("mlp:5", (6,), CLASSES)
    x, y = samples(0)
    assert path.losses(path.initial(0), x, y).shape == (0,)
    assert path.outputs(path.initial(0), x).shape == (0, CLASSES)
    with pytest.raises(ValueError, match="nothing to train on"):
        path.descend(path.initial(0), x, y, np.empty((5, 0), int), Steps(), 0.1)


def test_large_logits_keep_losses_finite():
    path = path_for("linear", (6,), CLASSES)
    x, y = samples(9)
    assert np.isfinite(path.losses(1e4 * path.initial(0), x, y)).all()


def test_slope_goes_back_through_the_same_dropout():
    path, drop, seed = path_for("mlp:7-5:dropout=0.3", (6,), CLASSES), 0.3, 11
    (x, y), start = samples(20), path.initial(1)
    end = path.descend(start, x, y, np.arange(20)[None], Steps(batch_size=20), 0.1, seed=seed)
    module, dice = loaded(path, start), np.random.Generator(np.random.SFC64(seed))
    masks = [torch.tensor((dice.random((20, width), dtype=np.float32) < 1 - drop) / (1 - drop)) for width in (7, 5)]
    for part, mask in zip([part for part in module if isinstance(part, nn.Dropout)], masks, strict=True):
        part.register_forward_hook(lambda part, args, output, mask=mask: args[0] * mask.float())
    twin, losses = descent.descend(module, x, y, [np.arange(20)], 20, 0.1)
    np.testing.assert_allclose(end.model, flatten(twin), atol=1e-6)
    assert end.loss == pytest.approx(np.mean(losses), abs=1e-5)


def test_dropout_masks_have_their_share():
    path = path_for(lambda: nn.Sequential(nn.Linear(3, 50), nn.ReLU(), nn.Dropout(0.3), nn.Linear(50, 2)), (3,), 2)
    desk = path._desk(path.chain, 400)
    path.weights.load(path.initial(0))
    path.weights.hidden[0][1][:] = 10
    x = samples(400, 3)[0]
    desk.forward(path.weights, x)
    whole = desk.hidden[0].values.copy()
    desk.forward(path.weights, x, dice=np.random.default_rng(0))
    dropped = desk.hidden[0].values
    assert (dropped == 0).mean() == pytest.approx(0.3, abs=0.01)
    np.testing.assert_allclose(dropped[dropped > 0], whole[dropped > 0] / 0.7, rtol=1e-6)


def test_same_arguments_give_the_same_bytes_whatever_came_before():
    path, fresh = (path_for("mlp:5:dropout=0.5", (6,), CLASSES) for _ in range(2))
    (x, y), start = samples(30), path.initial(0)
    path.descend(start + 1, x[:7], y[:7], orders(7, 2), Steps(batch_size=3, momentum=0.9), 0.5, seed=1)
    ends = [p.descend(start, x, y, orders(30, 2), Steps(batch_size=8), 0.1, seed=5).model.tobytes() for p in (path, fresh)]
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    "module, shape, chain",
    [
        (nn.Sequential(nn.Flatten(), nn.Linear(6, 3)), (2, 3), Chain((6, 3), ())),
        (nn.Sequential(nn.Linear(6, 3)), (2, 3), None),
        (nn.Sequential(nn.Linear(5, 3)), (6,), None),
        (nn.Sequential(nn.Linear(6, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2))), (6,), Chain((6, 4, 2), (0.0,))),
        (nn.Sequential(nn.Linear(6, 4), nn.Dropout(0.1), nn.ReLU(), nn.Linear(4, 2)), (6,), Chain((6, 4, 2), (0.1,))),
        (nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Dropout(0.1), nn.Linear(4, 2)), (6,), Chain((6, 4, 2), (0.1,))),
        (nn.Sequential(nn.Linear(6, 4, bias=False), nn.ReLU(), nn.Linear(4, 2)), (6,), None),
        (nn.Sequential(nn.Linear(6, 4), nn.Linear(4, 2)), (6,), None),
        (nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.ReLU(), nn.Linear(4, 2)), (6,), None),
        (nn.Sequential(nn.Dropout(0.1), nn.Linear(6, 4)), (6,), None),
        (nn.Sequential(nn.Linear(6, 4), nn.ReLU()), (6,), None),
        (nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Dropout(1.0), nn.Linear(4, 2)), (6,), None),
        (nn.Sequential(), (6,), None),
        (nn.Linear(6, 2), (6,), Chain((6, 2), ())),
    ],
)
def test_chains_are_recognized(module, shape, chain):
    assert chain_of(module, shape) == chain


def test_what_is_not_just_its_class_is_no_chain():
    frozen = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2))
    frozen[0].weight.requires_grad_(False)
    hooked = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2))
    hooked[0].register_forward_hook(lambda module, args, output: 2 * output)
    layer = nn.Linear(6, 6)
    twice = nn.Sequential(layer, nn.ReLU(), layer)
    normed = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(6, 4)), nn.ReLU(), nn.Linear(4, 2))
    assert [chain_of(module, (6,)) for module in (frozen, hooked, twice, normed)] == [None] * 4
