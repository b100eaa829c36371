import numpy as np
import pytest
import torch
from torch import nn

from coterie.federation import Steps
from coterie.simulation import general
from coterie.simulation.flat import flatten, layout_of, seeded
from coterie.simulation.general import GeneralPath, squared_error
from tests.oracles import descent

MODULES = {
    "tanh": ((6,), lambda: nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))),
    "conv": ((2, 8, 7), lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(24, 3))),
    "norm": ((6,), lambda: nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3))),
    "conv norm": (
        (2, 8, 8),
        lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)),
    ),
}


@pytest.fixture(params=MODULES)
def case(request):
    shape, build = MODULES[request.param]
    rng = np.random.default_rng(0)
    x = rng.normal(size=(22, *shape)).astype(np.float32)
    return GeneralPath(build), x, rng.integers(3, size=22), np.stack([rng.permutation(22) for _ in range(3)])


def loaded(path, model):
    module, parts = path.build(), path.layout.split(model)
    state = {name: torch.tensor(parts[name]) if name in parts else array for name, array in module.state_dict().items()}
    module.load_state_dict(state)
    return module


@pytest.mark.parametrize("momentum, weight_decay, max_steps", [(0.0, 0.0, None), (0.9, 0.01, None), (0.0, 0.1, 5)])
def test_descends_as_a_plain_loop(case, momentum, weight_decay, max_steps):
    path, x, y, order = case
    start = path.initial(1)
    steps = Steps(batch_size=8, momentum=momentum, weight_decay=weight_decay, max_steps=max_steps)
    end = path.descend(start, x, y, order, steps, 0.05)
    twin, losses = descent.descend(
        loaded(path, start), x, y, order, 8, 0.05, momentum=momentum, weight_decay=weight_decay, max_steps=max_steps
    )
    np.testing.assert_allclose(end.model, flatten(twin), atol=1e-5)
    assert end.loss == pytest.approx(np.mean(losses), abs=1e-5)
    assert end.loss_rms == pytest.approx(np.sqrt(np.mean(np.square(losses))), abs=1e-5)


def test_proximal_pull_is_that_of_the_loss(case):
    path, x, y, order = case
    start, other = path.initial(1), path.initial(2)
    end = path.descend(start, x, y, order, Steps(batch_size=8), 0.05, toward=other, pull=0.7)
    twin, _ = descent.descend(loaded(path, start), x, y, order, 8, 0.05, toward=loaded(path, other), pull=0.7)
    np.testing.assert_allclose(end.model, flatten(twin), atol=1e-5)


def test_only_what_is_named_moves(case):
    path, x, y, order = case
    start, only = path.initial(1), np.zeros(path.layout.size, bool)
    only[path.layout.head] = True
    end = path.descend(start, x, y, order, Steps(batch_size=8, momentum=0.5, weight_decay=0.1), 0.05, only=only)
    head = next(reversed(path.layout.layers))
    twin, _ = descent.descend(
        loaded(path, start), x, y, order, 8, 0.05, momentum=0.5, weight_decay=0.1, only=lambda name: name.startswith(head)
    )
    np.testing.assert_allclose(end.model[only], flatten(twin)[only], atol=1e-5)
    assert np.array_equal(end.model[~only], start[~only])


def test_answers_are_those_of_the_module(case, monkeypatch):
    monkeypatch.setattr(general, "CHUNK", 5)
    path, x, y, order = case
    model = path.descend(path.initial(1), x, y, order, Steps(batch_size=8), 0.05).model
    module = loaded(path, model).eval()
    with torch.no_grad():
        outputs = module(torch.tensor(x))
        losses = nn.functional.cross_entropy(outputs, torch.tensor(y), reduction="none")
    np.testing.assert_allclose(path.outputs(model, x), outputs, atol=1e-5)
    np.testing.assert_allclose(path.losses(model, x, y), losses, atol=1e-5)
    slopes = path.layout.split(path.gradient(model, x, y))
    trained = np.concatenate([slopes[name].ravel() for name, _ in module.named_parameters()])
    np.testing.assert_allclose(trained, descent.gradient(module, x, y), atol=1e-5)
    assert all((slopes[name] == 0).all() for name in path.layout.buffers)


def test_running_statistics_are_part_of_the_model():
    shape, build = MODULES["norm"]
    path = GeneralPath(build)
    assert path.layout.buffers == {"1.running_mean", "1.running_var"}
    assert list(path.layout.layers) == ["0", "1", "3"]
    x = np.random.default_rng(0).normal(size=(16, *shape)).astype(np.float32)
    start = path.initial(0)
    end = path.descend(start, x, np.arange(16) % 3, np.arange(16)[None], Steps(batch_size=8), 0.1)
    assert not np.array_equal(path.layout.split(end.model)["1.running_mean"], path.layout.split(start)["1.running_mean"])


def test_gray_images_and_their_channel():
    rng = np.random.default_rng(0)
    path = GeneralPath(lambda: nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Conv2d(3, 2, 3), nn.Flatten(), nn.Linear(32, 2)))
    x, y, order = rng.normal(size=(9, 1, 8, 8)).astype(np.float32), rng.integers(2, size=9), np.arange(9)[None]
    end = path.descend(path.initial(0), x, y, order, Steps(batch_size=4), 0.1)
    twin, _ = descent.descend(loaded(path, path.initial(0)), x, y, order, 4, 0.1)
    np.testing.assert_allclose(end.model, flatten(twin), atol=1e-5)


def test_frozen_parameters_stay():
    def build():
        module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        module[0].requires_grad_(False)
        return module

    path = GeneralPath(build)
    x = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    start = path.initial(0)
    steps = Steps(batch_size=4, weight_decay=0.1)
    moved = path.descend(start, x, np.arange(8) % 2, np.arange(8)[None], steps, 0.1).model != start
    assert not moved[: path.layout.head.start].any() and moved[path.layout.head].all()


def test_dropout_is_thrown_from_the_seed_alone():
    path = GeneralPath(lambda: nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 2)))
    x = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    ends = []
    before = torch.random.get_rng_state()
    for seed in (1, 2, 1, 2**127):
        end = path.descend(path.initial(0), x, np.arange(8) % 2, np.arange(8)[None], Steps(), 0.1, seed=seed)
        ends.append(end.model.tobytes())
    assert ends[0] == ends[2] and len(set(ends)) == 3
    assert torch.equal(before, torch.random.get_rng_state()), "the user's dice are not touched"
    torch.rand(3)
    assert np.array_equal(path.outputs(path.initial(0), x), path.outputs(path.initial(0), x))


def test_any_loss_may_be_given():
    path = GeneralPath(lambda: nn.Linear(3, 2), lambda outputs, y: (outputs - y[:, None]).abs().sum(dim=1))
    x, y = np.ones((4, 3), np.float32), np.zeros(4, np.float32)
    np.testing.assert_allclose(path.losses(path.initial(0), x, y), np.abs(path.outputs(path.initial(0), x)).sum(axis=1))


def test_squared_error_is_the_mean_over_outputs():
    outputs, y = torch.tensor([[1.0, 2.0], [3.0, 5.0]]), torch.tensor([[0.0, 2.0], [1.0, 1.0]])
    assert squared_error(outputs, y).tolist() == [0.5, 10.0]
    assert squared_error(outputs[:, :1], y[:, 0]).tolist() == [1.0, 4.0]


def test_layout_leaves_out_counters_and_counts_shared_arrays_once():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.norm, self.decode = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4)
            self.decode.weight = self.encode.weight
            self.register_buffer("steps", torch.zeros(1), persistent=False)

        def forward(self, x):
            return self.decode(self.norm(self.encode(x)))

    layout = layout_of(Tied())
    assert layout.names == (
        *("encode.weight", "encode.bias", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var"),
        "decode.bias",
    )
    path = GeneralPath(Tied)
    x = np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32)
    end = path.descend(path.initial(0), x, np.arange(12) % 4, np.arange(12)[None], Steps(batch_size=6), 0.1)
    twin, _ = descent.descend(seeded(Tied, 0), x, np.arange(12) % 4, np.arange(12)[None], 6, 0.1)
    np.testing.assert_allclose(end.model, flatten(twin), atol=1e-5)
