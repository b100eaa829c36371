import numpy as np
import pytest
from scipy.stats import norm

from coterie.backbones.strategies import Client, MetaNets, change, divergence
from coterie.federation import Layout
from coterie.simulation.models import path_for
from tests.simulation.small import blobs

NAMES = ("0.weight", "1.weight", "1.bias", "1.running_mean", "1.running_var")
LAYOUT = Layout(NAMES, ((2, 3), (2,), (2,), (2,), (2,)), frozenset({"1.running_mean", "1.running_var"}))


@pytest.fixture(scope="module")
def parts():
    data = blobs()
    path = path_for("mlp-bn", data.shape, data.classes)
    model = path.descend(path.initial(1), data.x, data.y, np.arange(240)[np.newaxis], *_steps()).model
    return data, path, Client(MetaNets(path.layout, 20), model, path.inputs(model, data.x[:60] + np.float32(0.7)))


def _steps():
    from coterie.federation import Steps

    return Steps(epochs=1, batch_size=20, lr=0.1), 0.1


def test_divergence_is_that_of_two_normals():
    (mean, sd), (other, spread) = (0.3, 0.7), (-0.5, 1.4)
    grid = np.linspace(-12, 12, 200_001)
    p, q = norm.pdf(grid, mean, sd), norm.pdf(grid, other, spread)
    with np.errstate(divide="ignore", invalid="ignore"):
        both = np.nansum((p - q) * (np.log(p) - np.log(q))) * (grid[1] - grid[0]) / 2
    found = divergence(*(np.array([value]) for value in (mean, sd**2, other, spread**2)))
    assert found == pytest.approx(both, rel=1e-3)


def test_lambda_has_a_place_for_every_number():
    nets = MetaNets(LAYOUT, hidden=4)
    beside = nets.first(0.01, np.random.default_rng(0))
    mixing, rating, base = nets.split(beside)
    assert nets.normalized == ("1",) and nets.arrays == NAMES[:3]
    assert (len(mixing), len(rating), base.tolist()) == (nets.mixing.size, nets.rating.size, [0.01] * 3)
    paces = nets.paces(0.5, 0.25)
    assert len(paces) == len(beside) and paces[-3:].tolist() == [0.25] * 3 and set(paces[:-3].tolist()) == {0.5}


def test_without_normalization_there_are_rates_only():
    nets = MetaNets(Layout(("0.weight", "0.bias"), ((2, 3), (2,))), hidden=4)
    assert nets.normalized == () and len(nets.split(nets.first(0.1, np.random.default_rng(0)))[0]) == 0


def test_inputs_are_what_enters_each_layer(parts):
    data, path, client = parts
    found, x = path.inputs(client.model, data.x), data.x.reshape(len(data.x), -1).astype(float)
    assert np.allclose(found["1"].mean, x.mean(axis=0), atol=1e-5) and np.allclose(
        found["1"].variance, x.var(axis=0), atol=1e-4
    )
    weights = path.layout.split(client.model)
    entered = x @ weights["1.weight"].T + weights["1.bias"]
    assert np.allclose(found["2"].mean, entered.mean(axis=0), atol=1e-3)
    assert np.allclose(found["2"].variance, entered.var(axis=0), rtol=1e-3)


def test_images_are_looked_at_channel_by_channel():
    path = path_for("cnn-bn", (3, 8, 8), 4)
    x = np.random.default_rng(0).normal(size=(10, 3, 8, 8)).astype(np.float32) + np.arange(3, dtype=np.float32)[:, None, None]
    first = next(iter(path.inputs(path.initial(0), x).values()))
    assert np.allclose(first.mean, x.mean(axis=(0, 2, 3)), atol=1e-4)
    assert np.allclose(first.variance, x.var(axis=(0, 2, 3)), atol=1e-3)


def test_a_chain_and_a_module_see_the_same():
    from coterie.simulation.general import GeneralPath

    data = blobs()
    path = path_for("mlp:5", data.shape, data.classes)
    one, two = path.inputs(path.initial(0), data.x), GeneralPath(path.build).inputs(path.initial(0), data.x)
    assert one.keys() == two.keys() == path.layout.layers.keys()
    assert all(np.array_equal(one[name].mean, two[name].mean) for name in one)


def test_mixed_statistics_lie_between_the_models_and_the_clients(parts):
    _, path, client = parts
    where = path.layout.slices
    nothing, all_own, half = (client.mixed(np.full(2, share)) for share in (0.0, 1.0, 0.5))
    assert np.array_equal(nothing, client.model)
    assert np.allclose(all_own[where["2.running_mean"]], client.inputs["2"].mean, atol=1e-5)
    assert np.allclose(half, (nothing + all_own) / 2, atol=1e-5)
    assert np.array_equal(half[client.moves], client.model[client.moves])


def test_the_slope_in_the_mix_is_that_of_short_steps(parts):
    data, path, client = parts
    for layer in range(2):
        mix = np.full(2, 0.4)
        step = 0.01 * np.eye(2)[layer]
        there, here = (path.losses(client.mixed(mix + s * step), data.x, data.y).mean(dtype=float) for s in (1, -1))
        model = client.mixed(mix)
        found = client.in_mix(model, path.gradient(model, data.x, data.y))[layer]
        assert found == pytest.approx((there - here) / 0.02, rel=0.05, abs=2e-4)


def test_the_slope_in_lambda_is_that_of_short_steps(parts):
    client, dice = parts[2], np.random.default_rng(2)
    beside = client.nets.first(0.01, np.random.default_rng(0))
    mix, rates = client.told(beside)
    assert mix.min() > 0 and mix.max() < 1, "away from the clamp"
    in_mix, in_rates, along = dice.normal(size=len(mix)), dice.normal(size=len(rates)), 1e-6 * dice.normal(size=len(beside))
    ends = [client.told(beside + sign * along) for sign in (1, -1)]
    expected = sum(sign * (in_mix @ one + in_rates @ two) for sign, (one, two) in zip((1, -1), ends, strict=True)) / 2
    assert client.slope(beside, in_mix, in_rates) @ along == pytest.approx(expected, rel=1e-3)


def test_a_change_along_nothing_is_nothing():
    assert change(lambda at: at, np.ones(3, np.float32), np.zeros(3)).tolist() == [0, 0, 0]
    assert not np.isfinite(change(lambda at: at, np.ones(3, np.float32), np.array([np.inf, 0, 0]))).any()
