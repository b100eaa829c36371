from dataclasses import replace

import numpy as np
import pytest
from torch import nn

from coterie import data, fedavg, fedl2p, play, simulate
from coterie.aggregators import BySize, Mean
from coterie.backbones import SGD, FedL2P
from coterie.backbones.strategies import Client, MetaNets
from coterie.federation import Steps
from coterie.recipe import ByCoalition, Central
from coterie.selectors import Uniform
from coterie.simulation.models import path_for
from tests.simulation.small import small

STEPS = Steps(epochs=1, batch_size=10, lr=0.1)
QUICK = FedL2P(pretrain=1, epochs=2, meta_epochs=1, rate=0.02, hidden=10, inner=SGD(STEPS))


def central(backbone=QUICK):
    return Central(backbone, Mean(), Uniform(4))


def test_first_the_model_learns_as_without_it_and_then_only_what_stands_beside_it():
    with small(model="mlp-bn") as fed, small(model="mlp-bn") as plain:
        size = fed.layout.size
        list(play(central(), fed, rounds=1))
        list(play(Central(SGD(STEPS), Mean(), Uniform(4)), plain, rounds=1))
        model, beside = fed.models[0, :size].copy(), fed.models[0, size:].copy()
        assert np.array_equal(model, plain.models[0])
        assert np.array_equal(beside, QUICK.beside(fed.layout, 1)) and not fed.homes.personal
        record = list(play(central(), fed, rounds=3))[-1]
        assert np.allclose(fed.models[0, :size], model, rtol=1e-6, atol=0) and not np.allclose(fed.models[0, size:], beside)
        assert record.meter.bytes_up >= 4 * 4 * (size + len(beside))
        assert all(len(own) == size and not np.array_equal(own, model) for own in fed.homes.personal.values())
        fed.scores()


def test_what_is_shared_beside_the_model_is_averaged_like_it():
    with small(model="mlp-bn") as fed:
        fed.make_room(QUICK)
        before = fed.models.copy()
        view = fed.view(1)
        plan = central().plan(view, central().begin(fed.roster))
        replies = fed.train(replace(plan, backbone=replace(QUICK, pretrain=0)))
        assert len({row.tobytes() for row in replies.models[:, fed.layout.size :]}) == 4, "each client learns of its own"
        merge, _ = central().mix(view, plan, replies, central().begin(fed.roster))
        fed.adopt(merge, replies)
    assert np.allclose(fed.models[0], replies.models.mean(axis=0), atol=1e-6) and fed.models.shape == before.shape


def test_a_resumed_run_is_the_same():
    recipe = central()
    with small(model="mlp-bn") as whole, small(model="mlp-bn") as first, small(model="mlp-bn") as later:
        list(play(recipe, whole, rounds=4))
        record = list(play(recipe, first, rounds=2))[-1]
        later.restore(first.state())
        list(play(recipe, later, rounds=4, state=record.state))
    assert np.array_equal(later.models, whole.models)


def test_it_trains_in_coalitions_and_on_models_without_normalization():
    from coterie.coalitions import ClusterFL

    with small() as fed:
        list(play(ByCoalition(QUICK, BySize(), ClusterFL(2, 1), selector=Uniform(4)), fed, rounds=4))
        assert np.isfinite(fed.models).all() and fed.models.shape[1] > fed.layout.size


def test_another_backbone_cannot_go_on_with_what_it_left():
    with small() as fed:
        fed.make_room(QUICK)
        with pytest.raises(ValueError, match=r"shares 0 numbers beside a model, but \d+ are there already"):
            list(play(Central(SGD(STEPS), Mean(), Uniform(4)), fed, rounds=1))


class Tied(nn.Module):
    """Normalization, then a map without a bias, which cannot make up for other statistics."""

    def __init__(self):
        super().__init__()
        self.norm, self.out = nn.BatchNorm1d(3), nn.Linear(3, 1, bias=False)

    def forward(self, x):
        return self.out(self.norm(x)).tanh()


@pytest.fixture(scope="module")
def fitted():
    """A regression that cannot be fitted, at the fixed point of full-batch descent, as the client and its samples."""
    from coterie.simulation.training import Home, Own

    dice = np.random.default_rng(0)
    x = dice.normal(size=(80, 3)).astype(np.float32) * np.array([1, 2, 0.5], np.float32) + 1
    y = (np.tanh(x @ np.array([0.5, -0.3, 1.0])) + dice.normal(size=80) / 2).astype(np.float32)
    path = path_for(Tied, (3,), 0)
    samples = Own(Home(path, (x, y), 0, "0", 1))
    model = path.initial(3)
    client = Client(MetaNets(path.layout, 10), model, path.inputs(model, x[:60]))
    return samples, client


FAR = np.array([0.0, 0.0, 0.5])
"""Rates of the normalization's scale and shift, which stay, and of the map."""


def descended(samples, client, mix, rows, steps):
    model = client.mixed(np.array([mix])).astype(np.float64)
    for _ in range(steps):
        model -= client.spread(FAR) * samples.gradient(model.astype(np.float32), rows)
    return model.astype(np.float32)


def test_the_implicit_slope_in_the_mix_is_that_of_training_again(fitted):
    samples, client = fitted
    rows, judges = np.arange(60), np.arange(60, 80)
    ends = [samples.losses(descended(samples, client, mix, rows, 300), judges).mean() for mix in (0.48, 0.52)]
    at = descended(samples, client, 0.5, rows, 300)
    seen = {}

    class Spy(Client):
        def told(self, beside):
            return np.array([0.5]), FAR

        def slope(self, beside, in_mix, in_rates):
            seen.update(in_mix=in_mix, in_rates=in_rates)
            return beside

    spy = Spy(client.nets, client.model, client.inputs)
    expected = (ends[1] - ends[0]) / 0.04
    replace(QUICK, terms=30)._slope(samples, spy, np.zeros(1), at, rows, judges)
    assert abs(expected) > 0.01 and seen["in_mix"][0] == pytest.approx(expected, rel=0.01)
    assert abs(seen["in_rates"][2]) < 1e-3, "at a fixed point the rate no longer matters"
    replace(QUICK, terms=0)._slope(samples, spy, np.zeros(1), at, rows, judges)
    assert abs(seen["in_mix"][0] - expected) > 0.02 * abs(expected), "without the series it is another slope"


def test_the_slope_in_the_rates_is_that_of_one_step(fitted):
    samples, client = fitted
    rows, judges = np.arange(60), np.arange(60, 80)
    start, told = client.mixed(np.array([0.5])), {}

    class Spy(Client):
        def told(self, beside):
            return np.array([0.5]), np.full(len(self.nets.arrays), 1e-3)

        def slope(self, beside, in_mix, in_rates):
            told["rates"] = in_rates
            return beside

    def loss_after(rates):
        return samples.losses(start - client.spread(rates) * samples.gradient(start, rows), judges).mean()

    rates = np.full(len(client.nets.arrays), 1e-3)
    expected = [(loss_after(rates + d) - loss_after(rates - d)) / 0.1 for d in 0.05 * np.eye(len(rates))]
    replace(QUICK, terms=0)._slope(samples, Spy(client.nets, client.model, client.inputs), np.zeros(1), start, rows, judges)
    assert np.abs(expected).max() > 0.01
    assert told["rates"] == pytest.approx(np.array(expected), rel=0.1, abs=2e-3)


def test_what_is_learned_serves_clients_better_than_what_it_began_with():
    """Personal models of clients with few classes, before and after λ was learned; all else is the same."""
    found = {}
    for name, meta in (("learned", 0.02), ("first", 1e-12)):
        method = fedl2p(6, pretrain=4, epochs=2, meta_epochs=1, rate=0.005, meta_rate=meta, backbone=SGD(STEPS))
        method = replace(method, backbone=replace(method.backbone, base_rate=meta / 10))
        scheme = data.dirichlet(0.2, min_size=12)
        with simulate("digits", partition=scheme, clients=8, seed=1, model="mlp-bn", workers=1) as fed:
            list(play(method, fed, rounds=12))
            found[name] = float(np.nanmean(fed.scores().clients["accuracy_personal"]))
    assert found["learned"] > found["first"] + 0.003


def test_nonsense_is_met_with_the_mixed_model():
    """Rates so large that tuning ends in nothing."""
    with small(model="mlp-bn") as fed:
        list(play(central(replace(QUICK, rate=1e30, pretrain=0)), fed, rounds=1))
        assert all(np.isfinite(own).all() for own in fed.homes.personal.values()) and np.isfinite(fed.models).all()


def test_a_client_with_one_sample_takes_part():
    with small(sizes=(1, 2, 3, 20), model="mlp-bn", holdout=0.0) as fed:
        list(play(central(replace(QUICK, pretrain=0)), fed, rounds=1))
        assert len(fed.homes.personal) == 4


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("pretrain", -1),
        ("epochs", 0),
        ("batch_size", 0),
        ("rate", 0.0),
        ("validation", 1.0),
        ("clip", float("nan")),
        ("hidden", 0),
    ],
)
def test_impossible_settings_are_refused(field, value):
    with pytest.raises(ValueError, match=f"{field}: must be"):
        FedL2P(**{field: value})


def test_fedavg_is_what_it_begins_with():
    digits = {"partition": data.shards(2), "clients": 8, "seed": 2, "model": "mlp-bn", "workers": 1}
    with simulate("digits", **digits) as one, simulate("digits", **digits) as two:
        first = [record.accuracy for record in play(fedl2p(3, pretrain=2, backbone=SGD(STEPS)), one, rounds=2)]
        assert first == [record.accuracy for record in play(fedavg(3, backbone=SGD(STEPS)), two, rounds=2)]
