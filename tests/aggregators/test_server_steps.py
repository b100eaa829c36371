from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.aggregators import BySize, Mean, Median, ServerSteps
from coterie.backbones import SGD
from coterie.coalitions import Fixed
from coterie.federation import Steps
from coterie.neighbors import Gossip
from coterie.recipe import ByCoalition, Central, Peers, play
from coterie.selectors import Uniform
from coterie.testing import check_aggregator
from tests.oracles.quadratic import Quadratic
from tests.oracles.server import Server
from tests.simulation.small import blobs, played, small

HOWS = ("momentum", "adagrad", "adam", "yogi")
CENTERS = np.array([[1.0, 2, 3], [2, 0, 1], [-1, 4, 0], [3, 3, -2], [0, 1, 5], [2, -2, 2]])


def federation(**settings):
    return Quadratic(CENTERS, sizes=np.array([10, 40, 20, 30, 10, 5]), **settings)


def central(rule, per_round=6):
    return Central(SGD(), rule, Uniform(per_round))


@settings(max_examples=40, deadline=None)
@given(
    how=st.sampled_from(HOWS),
    lr=st.sampled_from([0.01, 0.1, 1.0]),
    momentum=st.sampled_from([0.0, 0.5, 0.9]),
    decay=st.sampled_from([0.0, 0.9, 0.99]),
    tau=st.sampled_from([1e-3, 0.1]),
    per_round=st.integers(1, 6),
    seed=st.integers(0, 1000),
)
def test_rounds_are_those_of_the_algorithm(how, lr, momentum, decay, tau, per_round, seed):
    fed = federation(seed=seed)
    server = Server(fed.models[0].tolist(), how, lr, momentum, decay, tau)
    for record in play(central(ServerSteps(how, lr, momentum, decay, tau), per_round), fed, 5):
        chosen = record.asked.tolist()
        models = [[w + 0.5 * (c - w) for w, c in zip(server.x, CENTERS[k].tolist(), strict=True)] for k in chosen]
        server.step(models, [int(fed.roster["size"][k]) for k in chosen])
        np.testing.assert_allclose(fed.models[0], server.x, rtol=2e-3, atol=2e-3)


def test_without_momentum_and_at_rate_one_it_is_the_inner_rule():
    for inner in (BySize(), Mean(), Median()):
        stepped, plain = federation(), federation()
        list(play(central(ServerSteps(momentum=0.0, inner=inner), 4), stepped, 4))
        list(play(central(inner, 4), plain, 4))
        np.testing.assert_allclose(stepped.models, plain.models, atol=1e-5)


@pytest.mark.parametrize("how", HOWS)
def test_it_keeps_the_contract(how):
    check_aggregator(ServerSteps(how, lr=0.1))
    check_aggregator(ServerSteps(how, lr=0.1, inner=Median()))


def test_a_round_without_replies_moves_nothing_and_forgets_nothing():
    fed = federation(fails=lambda t: range(6) if t == 3 else ())
    records, models = [], []
    for record in play(central(ServerSteps()), fed, 4):
        records.append(record)
        models.append(fed.models.copy())
    assert np.array_equal(models[2], models[1]) and not np.array_equal(models[3], models[2])
    assert np.array_equal(records[2].state["aggregator"]["m"], records[1].state["aggregator"]["m"])


def test_each_coalition_has_a_memory_of_its_own_as_if_it_were_alone():
    rule = ServerSteps("adam", lr=0.1)
    both = federation()
    list(play(ByCoalition(SGD(), rule, Fixed((0, 0, 0, 1, 1, 1))), both, 5))
    for coalition, members in enumerate(([0, 1, 2], [3, 4, 5])):
        alone = Quadratic(CENTERS[members], sizes=both.roster["size"][members])
        list(play(central(rule, 3), alone, 5))
        np.testing.assert_allclose(both.models[coalition], alone.models[0], atol=1e-6)


@pytest.mark.parametrize("inner", [Mean(), BySize()])
def test_across_coalitions_it_steps_from_what_they_make_together(inner):
    rule, fed = ServerSteps("yogi", lr=0.1, inner=inner), federation()
    server = Server(fed.models[0].tolist(), "yogi", 0.1, rule.momentum, rule.decay, rule.tau)
    for _ in play(ByCoalition(SGD(), BySize(), Fixed((0, 0, 0, 0, 1, 1)), across=rule), fed, 5):
        sizes = fed.roster["size"]
        groups = [np.average(CENTERS[members], axis=0, weights=sizes[members]) for members in ([0, 1, 2, 3], [4, 5])]
        models = [[w + 0.5 * (c - w) for w, c in zip(server.x, goal.tolist(), strict=True)] for goal in groups]
        server.step(models, [100, 15] if inner == BySize() else [1, 1])
        np.testing.assert_allclose(fed.models[0], server.x, atol=1e-4)


def test_without_a_server_there_are_no_steps():
    steps = SGD(Steps(epochs=1, batch_size=8, lr=0.1))
    with_steps, without = small((20,) * 6, blobs()), small((20,) * 6, blobs())
    played(Peers(steps, ServerSteps(), Gossip(2)), with_steps, 3)
    played(Peers(steps, BySize(), Gossip(2)), without, 3)
    assert np.array_equal(with_steps.models, without.models)


def test_the_inner_rule_keeps_its_state_and_its_wishes():
    from coterie.aggregators import Boltzmann, FoolsGold

    rule = ServerSteps(inner=Boltzmann())
    assert rule.wants == Boltzmann().wants
    fed = federation()
    records = list(play(central(ServerSteps(inner=FoolsGold())), fed, 2))
    assert len(records[-1].state["aggregator"]["inner"]["clients"]) == 6


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"lr": 0}, "lr"),
        ({"momentum": 1}, "momentum"),
        ({"decay": -0.1}, "decay"),
        ({"tau": 0}, "tau"),
        ({"how": "sgd"}, "how"),
    ],
)
def test_refuses_what_makes_no_sense(changed, message):
    with pytest.raises(ValueError, match=message):
        replace(ServerSteps(), **changed)
