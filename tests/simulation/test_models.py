import numpy as np
import pytest
import torch
from torch import nn

from coterie import seeds
from coterie.federation import Steps
from coterie.simulation.dense import DensePath
from coterie.simulation.general import GeneralPath
from coterie.simulation.models import NAMES, path_for


@pytest.mark.parametrize(
    "model, shape, outputs, size",
    [
        ("mlp", (28, 28), 10, 784 * 64 + 64 + 64 * 30 + 30 + 30 * 10 + 10),
        ("mlp:dropout=0.5", (784,), 10, 784 * 64 + 64 + 64 * 30 + 30 + 30 * 10 + 10),
        ("mlp-200", (1, 28, 28), 10, 784 * 200 + 200 + 200 * 200 + 200 + 200 * 10 + 10),
        ("mlp:128-64", (64,), 10, 64 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10),
        ("mlp:7:dropout=.25", (4,), 3, 4 * 7 + 7 + 7 * 3 + 3),
        ("linear", (8, 8), 10, 64 * 10 + 10),
        ("line", (3,), 2, 6),
        ("cnn", (28, 28), 10, 260 + 5020 + 320 * 50 + 50 + 510),
        ("cnn", (1, 28, 28), 10, 260 + 5020 + 320 * 50 + 50 + 510),
        ("cnn-cifar", (3, 32, 32), 10, 896 + 18496 + 36928 + 1024 * 64 + 64 + 650),
    ],
)
def test_architectures_have_their_sizes_and_run(model, shape, outputs, size):
    path = path_for(model, shape, outputs)
    assert path.layout.size == size and path.initial(0).shape == (size,) and path.initial(0).dtype == np.float32
    assert isinstance(path, DensePath if model.startswith(("mlp", "linear")) else GeneralPath)
    x, y = np.random.default_rng(0).normal(size=(3, *shape)).astype(np.float32), np.arange(3) % outputs
    assert path.outputs(path.initial(0), x).shape == (3, outputs)
    end = path.descend(path.initial(0), x, y, np.arange(3)[None], Steps(), 0.1)
    assert np.isfinite(end.model).all() and not np.array_equal(end.model, path.initial(0))


def test_every_name_is_known():
    for name in NAMES:
        path_for(name, (3, 32, 32), 10)


@pytest.mark.parametrize("shape", [(1,), (2,)])
def test_linear_regression_has_a_weight_for_each_feature_and_one_output(shape):
    assert path_for("linear", shape, 0).layout.size == shape[0] + 1
    assert path_for("linear", shape, 0, targets=3).layout.size == 3 * (shape[0] + 1)


def test_initial_model_comes_from_the_seed_alone():
    path, other = path_for("mlp", (4,), 3), path_for("mlp:64-30", (4,), 3)
    before = torch.random.get_rng_state()
    first = path.initial(seeds.derive(1, "model"))
    torch.rand(7)
    assert np.array_equal(first, other.initial(seeds.derive(1, "model")))
    assert not np.array_equal(first, path.initial(seeds.derive(2, "model")))
    torch.random.set_rng_state(before)
    path_for("mlp", (4,), 3).initial(3)
    assert torch.equal(before, torch.random.get_rng_state())


def test_initial_weights_are_those_of_pytorch():
    path = path_for("mlp:500", (400,), 3)
    first = path.layout.split(path.initial(5))["1.weight"]
    assert abs(first).max() <= 1 / 20 and first.std() == pytest.approx(1 / 20 / np.sqrt(3), rel=0.02)


def test_users_may_bring_a_function_a_class_or_a_module():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(4, 2)

        def forward(self, x):
            return torch.sin(self.inner(x))

    function, whole = path_for(Net, (4,), 2), path_for(net := Net(), (4,), 2)
    assert function.layout.names == whole.layout.names == ("inner.weight", "inner.bias")
    assert not np.array_equal(function.initial(0), function.initial(1))
    own = np.concatenate([net.inner.weight.detach().numpy().ravel(), net.inner.bias.detach().numpy()])
    np.testing.assert_array_equal(whole.initial(0), own)
    whole.descend(whole.initial(0), np.ones((2, 4), np.float32), np.array([0, 1]), np.arange(2)[None], Steps(), 0.5)
    np.testing.assert_array_equal(whole.initial(1), own)


def test_own_loss_goes_the_general_way():
    path = path_for("mlp:3", (4,), 2, loss=lambda outputs, y: outputs[:, 0])
    assert isinstance(path, GeneralPath)


@pytest.mark.parametrize(
    "model, shape, message",
    [
        ("resnet", (4,), "model: must be one of linear, .*, or such as mlp:128-64"),
        ("cnn:64", (28, 28), "model: must be one of"),
        ("mlp:64-", (4,), "'64-' is neither widths"),
        ("mlp:0", (4,), "'0' is neither widths"),
        ("mlp:dropout=1", (4,), "'dropout=1' is neither"),
        ("cnn", (784,), r"cnn needs images of at least 16×16, channels first, not samples of shape \(784,\)"),
        ("cnn", (1, 15, 15), "cnn needs images"),
        ("cnn-cifar", (32, 32, 3), "cnn-cifar needs images"),
    ],
)
def test_unknown_models_are_told_of(model, shape, message):
    with pytest.raises(ValueError, match=message):
        path_for(model, shape, 10)
