"""A selector inside the strategies of Flower: it decides who takes part, and nothing else."""

import logging
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs the extra coterie[flower]")

from flwr.common import ArrayRecord, ConfigRecord, MetricRecord
from flwr.serverapp.strategy import (
    DifferentialPrivacyServerSideFixedClipping,
    FedAdam,
    FedAvg,
    FedMedian,
    FedProx,
    QFedAvg,
)

from coterie.flower import CoterieStrategy, answering
from coterie.flower.words import OURS
from coterie.selectors import ActiveFL, FedCor, FedCVRBolt, PowerOfChoice, Uniform
from tests.flower import quickstart
from tests.flower.near import Near
from tests.flower.test_federation import BROKEN, lying
from tests.simulation.small import These

NODES = [903, 17, 2**64 - 5, 44, 8, 700, 3, 51]


def quick(app=None, **settings):
    configs = {node: {"partition-id": k} for k, node in enumerate(NODES)}
    return Near(answering(quickstart.app) if app is None else app, configs, **settings)


def small(kind=FedAvg, nodes=2, **settings):
    return kind(fraction_evaluate=0.5, min_train_nodes=nodes, min_available_nodes=nodes, min_evaluate_nodes=1, **settings)


def wrapped(selector, inner=None, **settings):
    settings = {"clients": 8, "seed": 1, "arrival": 0.5, "patience": 0.2, **settings}
    return CoterieStrategy(inner or small(), selector, **settings)


def asked(near):
    """To which clients training messages went, round by round."""
    sent = {}
    for message in near.kinds("train"):
        sent.setdefault(message.content[OURS]["round"], []).append(NODES.index(message.metadata.dst_node_id))
    return {t: sorted(clients) for t, clients in sent.items()}


SELECTORS = {
    "fedcor": FedCor(2, warmup=3, refit_every=3),
    "power-of-choice": PowerOfChoice(2, 5),
    "fedcvr-bolt": FedCVRBolt(2),
    "active-fl": ActiveFL(2),
}
INNER = {
    "FedAvg": lambda: small(),
    "FedProx": lambda: small(FedProx, proximal_mu=0.1),
    "FedAdam": lambda: small(FedAdam, eta=0.05),
}


def clipped(inner, noise=1e-3):
    """A strategy in Flower's wrapper of differential privacy."""
    return DifferentialPrivacyServerSideFixedClipping(inner, noise, clipping_norm=5.0, num_sampled_clients=2)


@pytest.mark.parametrize(
    "inner",
    [
        lambda: small(QFedAvg, client_learning_rate=quickstart.RATE),
        lambda: small(FedMedian),
        lambda: clipped(small()),
    ],
    ids=["QFedAvg", "FedMedian", "differential privacy"],
)
def test_the_loss_falls_under_other_strategies_and_wrappers(inner):
    near, strategy = quick(), wrapped(PowerOfChoice(2, 5), inner())
    made = strategy.start(near, quickstart.initial(), num_rounds=12)
    losses = [
        quickstart.loss_and_slope(*arrays.to_numpy_ndarrays(), quickstart.DATA.x, quickstart.DATA.y)[0]
        for arrays in (quickstart.initial(), made.arrays)
    ]
    assert {len(clients) for clients in asked(near).values()} == {2}
    assert losses[1] < 0.85 * losses[0]


@pytest.mark.parametrize("name", SELECTORS)
@pytest.mark.parametrize("inner", INNER)
def test_the_loss_falls_under_every_strategy(name, inner):
    near, strategy = quick(), wrapped(SELECTORS[name], INNER[inner]())
    losses = {}

    def judge(t, arrays):
        model = arrays.to_numpy_ndarrays()
        losses[t] = quickstart.loss_and_slope(*model, quickstart.DATA.x, quickstart.DATA.y)[0]
        return MetricRecord({"loss": losses[t]})

    strategy.start(near, quickstart.initial(), num_rounds=12, evaluate_fn=judge)
    sizes = [len(clients) for clients in asked(near).values()]
    assert len(sizes) == 12 and all(2 <= size <= 4 for size in sizes)
    assert losses[12] < 0.85 * losses[0]


def test_the_same_choices_as_a_selector_makes_by_itself():
    """Power of choice with all as candidates trains those with the highest loss, which a plain loop can tell."""
    near, strategy = quick(), wrapped(PowerOfChoice(3, 8), small(nodes=3))
    result = strategy.start(near, quickstart.initial(), num_rounds=4)
    model = [array.astype(np.float64) for array in quickstart.initial().to_numpy_ndarrays()]
    for t in range(1, 5):
        losses, trained = [], []
        for k in range(8):
            x, y = quickstart.data(near.contexts[NODES[k]])
            losses.append(quickstart.loss_and_slope(*model, x, y)[0])
            own = list(model)
            for _ in range(5):
                _, *slope = quickstart.loss_and_slope(*own, x, y)
                own = [one - quickstart.RATE * by for one, by in zip(own, slope, strict=True)]
            trained.append((len(y), own))
        if t > 1:  # in the first round all losses are the same
            assert asked(near)[t] == sorted(np.argsort(losses)[-3:].tolist())
        few = [trained[k] for k in asked(near)[t]]
        model = [sum(n * own[i] for n, own in few) / sum(n for n, _ in few) for i in range(2)]
    np.testing.assert_allclose(result.arrays.to_numpy_ndarrays()[0], model[0], atol=1e-5)


def test_the_inner_strategy_sees_neither_our_record_nor_the_trial():
    seen = []

    class Watching(FedAvg):
        def aggregate_train(self, server_round, replies):
            replies = list(replies)
            seen.append((server_round, [set(one.content) for one in replies], [one.metadata.src_node_id for one in replies]))
            return super().aggregate_train(server_round, replies)

    near, strategy = quick(backwards=True), wrapped(FedCor(2, warmup=2, refit_every=2), small(Watching))
    strategy.start(near, quickstart.initial(), num_rounds=6)
    assert max(map(len, asked(near).values())) > 2, "no trial group trained"
    for _, contents, nodes in seen:
        assert len(nodes) == 2 and all(OURS not in names for names in contents)
        keys = [NODES.index(node) for node in nodes]
        assert keys == sorted(keys)


def test_the_order_in_which_replies_come_does_not_show():
    models = []
    for backwards in (False, True):
        near, strategy = quick(backwards=backwards), wrapped(FedCVRBolt(3), small(nodes=3))
        models.append(strategy.start(near, quickstart.initial(), num_rounds=8).arrays.to_numpy_ndarrays()[0].tobytes())
    assert models[0] == models[1]


@pytest.mark.parametrize("family", ["NaN", "infinite", "huge", "shape", "unreadable", "stale", "empty"])
def test_a_broken_reply_does_not_reach_the_inner_strategy(family):
    near, strategy = quick(), wrapped(These((1, 2, 5)), small(nodes=3))
    near.faults[NODES[2]] = lying(BROKEN[family][0])
    result = strategy.start(near, quickstart.initial(), num_rounds=1)
    assert 2 in {**strategy.replies.rejected, **strategy.replies.lost}
    without = wrapped(These((1, 5))).start(quick(), quickstart.initial(), num_rounds=1)
    for one, other in zip(result.arrays.to_numpy_ndarrays(), without.arrays.to_numpy_ndarrays(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("count", [0, -3, float("nan"), 2**62])
def test_a_count_that_cannot_be_does_not_reach_the_inner_strategy(count):
    def lie(answer):
        answer.content["metrics"] = MetricRecord({**answer.content["metrics"], "num-examples": count})
        return [answer]

    near, strategy = quick(), wrapped(These((1, 2, 5)), small(nodes=3))
    near.faults[NODES[2]] = lying(lie)
    result = strategy.start(near, quickstart.initial(), num_rounds=1)
    assert "count" in strategy.replies.rejected[2]
    without = wrapped(These((1, 5))).start(quick(), quickstart.initial(), num_rounds=1)
    for one, other in zip(result.arrays.to_numpy_ndarrays(), without.arrays.to_numpy_ndarrays(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_killed_and_late_nodes_are_lost_and_the_round_goes_on():
    near, strategy = quick(), wrapped(These((0, 1, 2, 3)), small(nodes=4))
    messages = list(strategy.configure_train(1, quickstart.initial(), ConfigRecord(), near))
    near.dead = {NODES[1], NODES[3]}
    arrays, _ = strategy.aggregate_train(1, iter(near.send_and_receive(messages)))
    assert arrays is not None
    assert strategy.replies.clients.tolist() == [0, 2]
    assert strategy.replies.lost == {1: "no answer", 3: "no answer"}


def test_a_node_that_comes_back_under_another_number_is_the_same_client():
    near, strategy = quick(), wrapped(These((0, 1, 2)), small(nodes=2))
    strategy.start(near, quickstart.initial(), num_rounds=1)
    near.gone = {NODES[1]}
    strategy.configure_train(2, quickstart.initial(), ConfigRecord(), near)
    assert strategy._round.plan.trainers.tolist() == [0, 2]
    near.join(12345, {"partition-id": 1})
    messages = strategy.configure_train(3, quickstart.initial(), ConfigRecord(), near)
    assert 12345 in [message.metadata.dst_node_id for message in messages]


def test_minimums_that_would_wait_forever_are_refused():
    strategy = wrapped(Uniform(2), small(nodes=3))
    with pytest.raises(ValueError, match="min_train_nodes: FedAvg would wait forever for 3 nodes where 2 were chosen"):
        strategy.start(quick(), quickstart.initial(), num_rounds=1)


@pytest.mark.parametrize("wrap", [lambda one: one, clipped], ids=["bare", "wrapped"])
def test_a_strategy_that_samples_itself_is_refused(wrap):
    with pytest.raises(ValueError, match="fraction_train: must be 1"):
        CoterieStrategy(wrap(FedAvg(fraction_train=0.5)), Uniform(2))


def test_minimums_in_a_wrapper_are_seen():
    with pytest.raises(ValueError, match="would wait forever for 3 nodes where 2 were chosen"):
        wrapped(Uniform(2), clipped(small(nodes=3))).start(quick(), quickstart.initial(), num_rounds=1)


def test_a_strategy_that_writes_to_others_is_found_out():
    class Own(FedAvg):
        def configure_train(self, server_round, arrays, config, grid):
            return list(super().configure_train(server_round, arrays, config, grid))[:1]

    with pytest.raises(RuntimeError, match="writes to 1 nodes where 2 were chosen"):
        wrapped(Uniform(2), small(Own)).start(quick(), quickstart.initial(), num_rounds=1)


def test_without_the_clients_line_the_message_names_it(caplog):
    with pytest.raises(TimeoutError, match="0 of 8 clients"):
        wrapped(Uniform(2), arrival=0.05).start(quick(quickstart.app), quickstart.initial(), num_rounds=1)
    assert "coterie.flower.answering(app)" in caplog.text


def test_integers_travel_beside_the_model():
    from coterie.flower.strategy import Form

    arrays = ArrayRecord([np.ones((2, 2), np.float32), np.array(7), np.full(3, 0.5, np.float16)])
    form = Form.of(arrays)
    flat = form.flat(arrays)
    assert flat.dtype == np.float32 and flat.tolist() == [1, 1, 1, 1, 0.5, 0.5, 0.5]
    back = form.record(flat * 2).to_numpy_ndarrays()
    assert back[1] == 7 and back[2].dtype == np.float16 and back[0].tolist() == [[2, 2], [2, 2]]


def test_flowers_log_says_who_chooses(caplog):
    caplog.set_level("INFO", "flwr")
    logging.getLogger("flwr").addHandler(caplog.handler)
    try:
        wrapped(FedCor(3)).summary()
    finally:
        logging.getLogger("flwr").removeHandler(caplog.handler)
    assert "Who trains is chosen by FedCor(per_round=3" in caplog.text and "Weighted by" in caplog.text


def test_neither_side_needs_pytorch():
    wanted = "from coterie.flower import CoterieStrategy, answering; from coterie.selectors import FedCor"
    run = [sys.executable, "-c", f"import sys; {wanted}; print('torch' in sys.modules)"]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.split() == ["False"]
