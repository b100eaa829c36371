"""Any recipe over a grid of Flower: the same choices and models as the simulation's, whatever nodes do."""

import threading
import time
from functools import partial

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs the extra coterie[flower]")

import flwr.common as fl
from flwr.client import ClientApp

from coterie import catalog
from coterie.aggregators import BySize, Krum, Mean, Median
from coterie.backbones import SGD, Ditto, FedL2P, FineTune, Prox
from coterie.coalitions import Fixed
from coterie.federation import Steps
from coterie.flower import FlowerFederation, Holding, client_app, nodes
from coterie.flower.words import ARRAYS, OURS
from coterie.neighbors import Gossip
from coterie.plan import Plan
from coterie.probe import Probe
from coterie.recipe import ByCoalition, Central, Peers, play
from coterie.report import Bounded, Report
from coterie.selectors import PowerOfChoice, Uniform
from coterie.testing import check_federation
from tests.flower.near import Error, Near
from tests.simulation.small import These, blobs, small

STEPS = Steps(epochs=2, batch_size=8, lr=0.1)
NODES = [2**63 + 7, 11, 5, 2**64 - 1, 400, 23]
"""Random as Flower's are; the order of the keys is another one."""


def app_of(simulation):
    return client_app(
        lambda context: Holding(simulation.crew.path, simulation.clients, int(context.node_config["partition-id"]), 1),
        portable=True,
    )


def far(simulation, **settings):
    """The clients of a simulation, each behind a node."""
    near = Near(app_of(simulation), {node: {"partition-id": k} for k, node in enumerate(NODES)})
    columns = {name: simulation.roster[name] for name in ("speed", "bandwidth")}
    return near, joined(simulation, near, columns=columns, **settings)


def joined(simulation, near, **settings):
    settings = {"clients": len(simulation.clients), "seed": simulation.seed, "patience": 0.2, "arrival": 0.5, **settings}
    return FlowerFederation(near, simulation.layout, simulation.models[0], **settings)


RECIPES = {
    "fedavg": Central(SGD(STEPS), BySize(), Uniform(3)),
    "prox, power of choice": Central(Prox(0.1, STEPS), BySize(), PowerOfChoice(2, 4)),
    "robust, mini-batch losses": Central(SGD(STEPS), Krum(0.3), PowerOfChoice(3, 5, variant="cpow-d", batch_size=4)),
    "fedcor": catalog.method("fedcor", per_round=2, backbone=SGD(STEPS), settings={"warmup": 3, "refit_every": 2}),
    "fedcor by a probe": catalog.method(
        "fedcor",
        per_round=2,
        backbone=SGD(STEPS),
        settings={"warmup": 2, "observe": "probe", "refit_every": None, "epsilon": 5.0},
    ),
    "fedcvr-bolt": catalog.method("fedcvr-bolt", per_round=2, backbone=SGD(STEPS), settings={}),
    "active-fl": catalog.method("active-fl", per_round=2, backbone=SGD(STEPS), settings={}),
    "divfl": catalog.method("divfl", per_round=2, backbone=SGD(STEPS), settings={}),
    "fedcbs": catalog.method("fedcbs", per_round=2, backbone=SGD(STEPS), settings={}),
    "coalitions": ByCoalition(FineTune(SGD(STEPS), Steps(epochs=1)), BySize(), Fixed((0, 1, 0, 1, 1, -1))),
    "peers": Peers(SGD(STEPS), BySize(), Gossip(2)),
    "numbers beside the model": Central(FedL2P(2, 1, 1, hidden=4, inner=SGD(STEPS)), BySize(), Uniform(3)),
    "privshare": catalog.method(
        "privshare",
        per_round=3,
        backbone=SGD(STEPS),
        settings={"epsilon": 40.0, "most": 50.0, "select": "score", "epsilon_contribution": 3.0, "observe": "round"},
    ),
}


@pytest.mark.parametrize("name", RECIPES)
def test_the_same_choices_and_models_as_the_simulation(name):
    recipe = RECIPES[name]
    with small() as simulation:
        near, federation = far(simulation)
        near.backwards = True
        for here, there in zip(play(recipe, simulation, 7), play(recipe, federation, 7), strict=True):
            assert here.asked.tolist() == there.asked.tolist()
            assert here.used.tolist() == there.used.tolist()
            np.testing.assert_allclose(federation.models, simulation.models, atol=1e-5)
            np.testing.assert_array_equal(federation.follows, simulation.follows)
            assert there.meter == here.meter
            assert there.facts.keys() == here.facts.keys()


def test_it_keeps_the_contract_of_federations():
    def make():
        with small() as simulation:
            return far(simulation)[1]

    check_federation(make)


def lying(change):
    """A node whose replies to training are changed."""

    def fault(message, reply):
        answer = reply()
        return change(answer) if message.metadata.message_type == "train" else [answer]

    return fault


def with_model(change):
    def changed(answer):
        model = answer.content[ARRAYS]
        name = list(model)[-1]
        model[name] = fl.Array(change(model[name].numpy().copy()))
        return [answer]

    return changed


def with_told(**values):
    def changed(answer):
        answer.content[OURS] = fl.ConfigRecord({**answer.content[OURS], **values})
        return [answer]

    return changed


def filled(value):
    return with_model(lambda array: np.full_like(array, value))


BROKEN = {
    "NaN": (filled(np.nan), "not finite"),
    "infinite": (filled(np.inf), "not finite"),
    "huge": (filled(1e30), "length"),
    "shape": (with_model(lambda array: array[:-1]), "shape"),
    "type": (with_model(lambda array: array.astype(np.float64)), "float64"),
    "count zero": (with_told(count=0), "count"),
    "count negative": (with_told(count=-1), "count"),
    "count NaN": (with_told(count=float("nan")), "count"),
    "count huge": (with_told(count=2**63 - 1), "count"),
    "count text": (with_told(count="many"), "count"),
    "stale": (with_told(round=0), "stale"),
    "fact NaN": (with_told(**{"fact.loss": float("nan")}), "loss"),
    "fact text": (with_told(**{"fact.loss": "low"}), "loss"),
}


def broken_model(answer):
    """Arrays that cannot be read."""
    model = answer.content[ARRAYS]
    name = next(iter(model))
    array = model[name]
    model[name] = fl.Array(dtype=array.dtype, shape=array.shape, stype=array.stype, data=b"\x93nonsense")
    return [answer]


BROKEN["unreadable"] = (broken_model, "model")
BROKEN["empty"] = (lambda answer: [fl.Message(fl.RecordDict(), reply_to=answer)], "")


@pytest.mark.parametrize("family", BROKEN)
def test_a_broken_reply_is_rejected_whole_and_the_model_is_as_without_it(family):
    change, reason = BROKEN[family]
    with small() as simulation:
        near, federation = far(simulation)
        near.faults[NODES[2]] = lying(change)
        (record,) = play(Central(SGD(STEPS), BySize(), These((1, 2, 4))), federation, 1)
        (without,) = play(Central(SGD(STEPS), BySize(), These((1, 4))), simulation, 1)
        assert record.asked.tolist() == [1, 2, 4]
        assert record.used.tolist() == without.used.tolist() == [1, 4]
        assert reason in {**record.rejected, **record.lost}[2]
        np.testing.assert_allclose(federation.models, simulation.models, atol=1e-5)


def test_of_two_replies_the_first_is_kept():
    with small() as simulation:
        near, federation = far(simulation)
        near.faults[NODES[2]] = lying(lambda answer: [answer, *filled(7)(copied(answer))])
        (record,) = play(Central(SGD(STEPS), BySize(), These((1, 2))), federation, 1)
        assert record.used.tolist() == [1, 2]
        assert "second" in record.rejected[2]


def copied(answer):
    arrays = {name: fl.Array(array.numpy().copy()) for name, array in answer.content[ARRAYS].items()}
    twin = fl.Message(fl.RecordDict({**answer.content, ARRAYS: fl.ArrayRecord(arrays)}), reply_to=answer)
    twin.__dict__["_metadata"] = answer.metadata
    return twin


@pytest.mark.parametrize("killed", range(1, 7))
def test_a_round_ends_with_whoever_answers_by_the_deadline(killed):
    with small() as simulation:
        near, federation = far(simulation, patience=600.0)
        near.dead = set(NODES[:killed])
        started = time.monotonic()
        (record,) = play(Central(SGD(STEPS), BySize(), Uniform(6), deadline=1.0), federation, 1)
        assert time.monotonic() - started < 60
        assert record.used.tolist() == list(range(killed, 6))
        assert record.lost == dict.fromkeys(range(killed), "late")
        assert federation.round == 1


def test_a_reply_after_the_deadline_is_late_and_never_used():
    with small() as simulation:
        near, federation = far(simulation, patience=600.0)
        near.slow = {NODES[1]: 2.5}
        recipe = Central(SGD(STEPS), BySize(), Uniform(6), deadline=1.0)
        records = play(recipe, federation, 2)
        for _ in range(2):
            started = time.monotonic()
            record = next(records)
            assert time.monotonic() - started < 60
            assert record.lost == {1: "late"} and record.used.tolist() == [0, 2, 3, 4, 5]
            time.sleep(1.6)  # the reply comes now, and nobody takes it for the next round's


def test_a_round_of_a_method_that_asks_ends_too():
    """Each question waits for whoever freezes as long as it may, then training to its deadline."""
    with small() as simulation:
        near, federation = far(simulation, patience=0.3)
        near.dead = {NODES[0], NODES[4]}
        started = time.monotonic()
        recipe = Central(SGD(STEPS), BySize(), PowerOfChoice(3, 6), deadline=0.3)
        (record,) = play(recipe, federation, 1)
        assert time.monotonic() - started < 60
        assert set(record.used.tolist()) <= {1, 2, 3, 5}


def test_who_lies_about_its_count_gets_its_weight_where_counts_weigh_and_nowhere_else():
    """A count that could be cannot be told from a true one; averages that do without counts do without the lie."""
    for average, moved in ((BySize(), True), (Mean(), False), (Median(), False)):
        models = {}
        for count in (None, 10**6):
            with small() as simulation:
                near, federation = far(simulation)
                if count is not None:
                    near.faults[NODES[2]] = lying(with_told(count=count))
                (record,) = play(Central(SGD(STEPS), average, These((1, 2, 4))), federation, 1)
                assert record.used.tolist() == [1, 2, 4]
                models[count] = federation.models
        assert (not np.allclose(models[None], models[10**6], atol=1e-4)) == moved


def test_with_too_few_replies_nothing_changes():
    with small() as simulation:
        near, federation = far(simulation)
        near.dead = set(NODES[:4])
        before = federation.models.copy()
        (record,) = play(Central(SGD(STEPS), BySize(), Uniform(6), deadline=1.0, min_replies=3), federation, 1)
        assert record.used.tolist() == [] and record.answered.tolist() == [4, 5]
        np.testing.assert_array_equal(federation.models, before)


def test_over_selection_does_not_wait_for_the_rest():
    with small() as simulation:
        near, federation = far(simulation, patience=30.0)
        near.dead = {NODES[0]}
        started = time.monotonic()
        (record,) = play(Central(SGD(STEPS), BySize(), Uniform(6), use_first=4), federation, 1)
        assert time.monotonic() - started < 10
        assert len(record.used) == 4 and record.lost[0] == "surplus"


def test_a_client_that_fails_says_why_and_the_others_go_on():
    def unknown(message, reply):
        if message.metadata.message_type == "train":
            message.content[OURS]["backbone"] = '{"name": "secret-sauce"}'
        return [reply()]

    with small() as simulation:
        near, federation = far(simulation)
        near.faults[NODES[1]] = unknown
        (record,) = play(Central(SGD(STEPS), BySize(), These((0, 1))), federation, 1)
        assert record.used.tolist() == [0]
        assert "'secret-sauce' is none of" in record.lost[1]


def test_who_does_not_answer_a_question_gives_nan():
    with small() as simulation:
        near, federation = far(simulation)
        near.dead = {NODES[3]}
        near.faults[NODES[4]] = lambda message, reply: [fl.Message(fl.RecordDict(), reply_to=message)]
        view = federation.view(1)
        assert np.isnan(view.ask.losses(view.present)).tolist() == [False, False, False, True, True, False]
        assert federation.meter().evaluations == 4
        assert np.isnan(view.ask.gradients([3, 5])).all(axis=1).tolist() == [True, False]
        with pytest.raises(ValueError, match="client 3 gives no label counts"):
            view.ask.label_counts([2, 3])


def test_a_client_keeps_its_place_under_another_node():
    with small() as simulation:
        near, federation = far(simulation)
        assert federation.roster.keys == tuple("012345")
        near.gone = {NODES[1], NODES[2]}
        assert federation.view(1).present.tolist() == [0, 3, 4, 5]
        near.join(99, {"partition-id": 2})
        near.join(100, {"partition-id": 17})
        assert federation.view(1).present.tolist() == [0, 2, 3, 4, 5]


def test_the_second_node_of_a_client_is_passed_over(caplog):
    with small() as simulation:
        near, federation = far(simulation)
        near.join(1, {"partition-id": 2})
        federation.view(1)
        federation.train(Plan.star([2], SGD(STEPS)))
        assert [message.metadata.dst_node_id for message in near.kinds("train")] == [NODES[2]]
        assert "client 2 is there twice" in caplog.text


def test_a_client_is_known_by_what_its_node_says_before_its_key():
    with small() as simulation:
        app = client_app(lambda context: Holding(simulation.crew.path, simulation.clients, 0))
        near = Near(
            app, {3: {"client-key": "clinic-10"}, 2: {"client-key": "clinic-9"}, 1: {"client-key": "z", "partition-id": 5}}
        )
        assert joined(simulation, near, clients=3).roster.keys == ("5", "clinic-9", "clinic-10")


def test_an_app_that_does_not_know_us_gets_told_what_to_do(caplog):
    with small() as simulation:
        near = Near(ClientApp(), {1: {"partition-id": 0}})
        with pytest.raises(TimeoutError, match="0 of 1 clients came"):
            joined(simulation, near, clients=1, arrival=0.05)
        assert "coterie.flower.answering(app)" in caplog.text


def test_a_restored_federation_goes_on_to_the_same_models():
    recipe = RECIPES["fedcor"]
    with small() as simulation:
        whole = far(simulation)[1]
        state = [record.state for record in play(recipe, whole, 6)][3 - 1]
        first, later = far(simulation)[1], far(simulation)[1]
        list(play(recipe, first, 3))
        later.restore(first.state())
        list(play(recipe, later, 6, state))
        np.testing.assert_array_equal(later.models, whole.models)


def test_what_nodes_keep_comes_back_where_they_are_ours():
    """Ditto's own models and the last that everybody trained, in other nodes' hands."""
    recipe = Central(Ditto(0.5, SGD(STEPS), STEPS), BySize(), Uniform(3))
    with small() as simulation:
        whole = far(simulation, portable=True)[1]
        list(play(recipe, whole, 6))
        first, (near, later) = far(simulation, portable=True)[1], far(simulation, portable=True)
        list(play(recipe, first, 3))
        later.restore(first.state())
        list(play(recipe, later, 6))
        assert rebuilt(later.state()["kept"]) == rebuilt(whole.state()["kept"]) != {}
        mine = later.view(7).ask.models(range(6))
        np.testing.assert_array_equal(mine, whole.view(7).ask.models(range(6)))
        assert np.isfinite(mine).any()
        near.gone = {NODES[k] for k in range(6)}
        with pytest.raises(TimeoutError, match="is gone"):
            later.state()


def test_a_node_of_somebody_else_does_not_give_away_what_it_keeps():
    with small() as simulation:
        app = client_app(lambda context: Holding(simulation.crew.path, simulation.clients, 0, 1))
        federation = joined(simulation, Near(app, {1: {"partition-id": 0}}), clients=1, portable=True)
        list(play(Central(Ditto(0.5, SGD(STEPS), STEPS), BySize(), Uniform(1)), federation, 1))
        with pytest.raises(TimeoutError, match="client 0 does not say what it keeps"):
            federation.state()


def rebuilt(kept):
    """What can be compared of what nodes keep."""
    return {
        key: {name: {part: array.tobytes() for part, array in parts.items()} for name, parts in drawers.items()}
        for key, drawers in kept.items()
    }


def held(holding, context):
    return holding


def test_private_answers_have_dice_that_the_server_does_not_know():
    probe = Probe(1, directions=3, epsilon=1.0)
    with small() as simulation:
        holdings = [Holding(simulation.crew.path, simulation.clients, 0, seed) for seed in (5, 6, 5)]
        apps = [client_app(partial(held, holding)) for holding in holdings]
        views = [joined(simulation, Near(app, {1: {"partition-id": 0}}), clients=1).view(1) for app in apps]
        one, other, again = (view.ask.probe([0], probe) for view in views)
        assert not np.allclose(one, other)
        np.testing.assert_array_equal(one, again)
        np.testing.assert_array_equal(one, views[0].ask.probe([0], probe))


def sized(epsilon, **settings):
    return Report((Bounded("size", 0, 40, epsilon),), **settings)


def test_a_discreet_client_tells_numbers_under_noise_only_and_keeps_its_own_account():
    pytest.importorskip("opendp")
    with small() as simulation:
        holding = Holding(simulation.crew.path, simulation.clients, 0, 5)
        near = Near(client_app(partial(held, holding), discreet=True, cap=1.0), {1: {"partition-id": 0}})
        federation = joined(simulation, near, clients=1)
        assert federation.roster["size"].tolist() == [1], "it tells that it has data, not how much"
        ask = federation.view(1).ask
        one = ask.reports([0], sized(0.6))
        assert np.isfinite(one).all()
        forgetful = joined(simulation, near, clients=1).view(1).ask
        np.testing.assert_array_equal(forgetful.reports([0], sized(0.6)), one)
        assert np.isnan(forgetful.reports([0], sized(0.6, occasion=1))).all(), "its own cap binds, whatever the server counts"
        assert np.isnan(forgetful.reports([0], sized(np.inf, occasion=2))).all()
        assert np.isnan(forgetful.losses([0])).all()
        assert np.isnan(forgetful.probe([0], Probe(1, directions=2))).all()
        private = forgetful.probe([0], Probe(1, directions=2, epsilon=0.3))
        assert np.isfinite(private).all()
        again = joined(simulation, near, clients=1).view(1).ask
        np.testing.assert_array_equal(again.probe([0], Probe(1, directions=2, epsilon=0.3)), private)
        assert np.isnan(again.probe([0], Probe(2, directions=2, epsilon=0.3))).all(), "probes and reports have one cap"


def test_an_account_in_a_file_is_not_forgotten_when_the_node_is(tmp_path):
    with small() as simulation:
        holding = Holding(simulation.crew.path, simulation.clients, 0, 5)
        app = client_app(partial(held, holding), cap=1.0, account=tmp_path / "account.json")

        def anew():
            return joined(simulation, Near(app, {1: {"partition-id": 0}}), clients=1).view(1).ask

        one = anew().reports([0], sized(0.6))
        assert np.isfinite(one).all()
        np.testing.assert_array_equal(anew().reports([0], sized(0.6)), one)
        assert np.isnan(anew().reports([0], sized(0.6, occasion=1))).all()
        (tmp_path / "account.json").write_text("torn")
        assert np.isnan(anew().reports([0], sized(0.6))).all(), "without its account it tells nothing"


def test_a_client_of_arrays_trains_a_module():
    from torch import nn

    data = blobs()

    def hold(context):
        mine = slice(context.node_config["partition-id"], None, 3)
        return Holding.of(lambda: nn.Linear(4, 3), data.x[mine], data.y[mine], classes=3, seed=1)

    app = client_app(hold)
    near = Near(app, {n: {"partition-id": n} for n in range(3)})
    federation = FlowerFederation.of(near, lambda: nn.Linear(4, 3), clients=3, seed=1, arrival=1.0)
    list(play(Central(SGD(STEPS), BySize(), PowerOfChoice(2, 3)), federation, 5))
    assert federation.roster["size"].tolist() == [64, 64, 64]
    losses = federation.view(6).ask.losses([0, 1, 2])
    assert (losses < 0.8).all(), losses


@pytest.mark.parametrize(
    ("wrong", "message"), [({"x": []}, "one at least"), ({"holdout": 1.0}, "holdout"), ({"y": [9]}, "labels run from 9")]
)
def test_a_client_without_sense_is_refused(wrong, message):
    given = {"x": np.zeros((1, 4)), "y": [0], "holdout": 0.2, **wrong}
    if not len(given["x"]):
        given["y"] = []
    with pytest.raises(ValueError, match=message):
        Holding.of("linear", given["x"], given["y"], classes=3, holdout=given["holdout"])


def test_without_a_number_it_waits_until_nobody_new_comes(monkeypatch):
    monkeypatch.setattr(nodes, "SETTLED", 0.3)
    with small() as simulation:
        near = Near(app_of(simulation), {node: {"partition-id": k} for k, node in enumerate(NODES[:2])})
        later = threading.Timer(0.1, near.join, (NODES[2], {"partition-id": 2}))
        later.start()
        assert joined(simulation, near, clients=None, arrival=30.0).roster.keys == ("0", "1", "2")
        later.join()


def test_a_node_that_does_not_answer_is_waited_for_once(monkeypatch):
    """It is visible and silent: a round is not held up by it again and again, and it is taken in when it answers."""
    monkeypatch.setattr(nodes, "GLANCE", 1.5)
    with small() as simulation:
        near, federation = far(simulation, patience=30.0)
        near.join(77, {"partition-id": 2})
        near.gone, near.dead = {NODES[2]}, {77}
        assert federation.view(1).present.tolist() == [0, 1, 3, 4, 5]
        started = time.monotonic()
        for t in range(2, 12):
            assert len(federation.view(t).present) == 5
        assert time.monotonic() - started < 1.5 * 6
        (letter,) = [message for message in near.kinds("query.coterie_hello") if message.metadata.dst_node_id == 77]
        near.box[letter.metadata.message_id] = [near._reply(letter)]
        assert federation.view(12).present.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_node_whose_message_is_lost_is_asked_again():
    lost = {"times": 5}

    def unreachable(message, reply):
        lost["times"] -= 1
        return [fl.Message(Error(code=5, reason="node unavailable"), reply_to=message)] if lost["times"] >= 0 else [reply()]

    with small() as simulation:
        near = Near(app_of(simulation), {NODES[0]: {"partition-id": 0}}, faults={NODES[0]: unreachable})
        assert joined(simulation, near, clients=1, arrival=30.0).roster.keys == ("0",)
