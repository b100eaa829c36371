import numpy as np
import pytest
import torch

from coterie.aggregators import BySize, Mean
from coterie.backbones import SGD, FineTune
from coterie.coalitions import Fixed
from coterie.federation import Steps
from coterie.neighbors import Gossip
from coterie.recipe import ByCoalition, Central, Peers
from coterie.simulation import World, evaluation
from coterie.simulation.training import Home
from tests.simulation.small import These, played, small

STEPS = Steps(epochs=2, batch_size=8, lr=0.1)


def judged(federation, model, x, y):
    path = federation.crew.path
    return path.losses(model, x, y).mean(), (path.outputs(model, x).argmax(axis=1) == y).mean()


def test_one_global_model_is_judged_on_all_tests_and_on_each_clients():
    federation = small()
    (record,) = played(Central(SGD(STEPS), BySize(), These((0, 1))), federation, 1)
    clients = federation.clients
    loss, accuracy = judged(federation, federation.models[0], clients.x_test, clients.y_test)
    assert record.loss == pytest.approx(loss, rel=1e-6)
    assert record.accuracy == pytest.approx(accuracy)
    own = [judged(federation, federation.models[0], *clients.samples(k, "test"))[1] for k in range(6)]
    np.testing.assert_allclose(record.scores.clients["accuracy"], own)
    assert set(record.scores.clients) == {"accuracy"}


@pytest.mark.parametrize("test", ["shares", "own"])
def test_of_several_models_each_client_counts_with_the_one_it_follows(test, monkeypatch):
    monkeypatch.setattr(evaluation, "CHUNK", 7)
    monkeypatch.setattr(evaluation, "BLOCK", 2)
    federation = small(test=test)
    (record,) = played(ByCoalition(SGD(STEPS), Mean(), Fixed((0, 1, 1, 1, 2, -1))), federation, 1)
    clients, models = federation.clients, federation.models[federation.follows]
    overall = np.array([judged(federation, model, clients.x_test, clients.y_test) for model in models])
    assert (record.loss, record.accuracy) == pytest.approx(tuple(overall.mean(axis=0)), rel=1e-6)
    own = [judged(federation, model, *clients.samples(k, "test"))[1] for k, model in enumerate(models)]
    np.testing.assert_allclose(record.scores.clients["accuracy"], own)


def test_personal_models_are_judged_after_mixing_and_after_training():
    federation = small(world=World(availability=0.7))
    records = played(Peers(SGD(STEPS), Mean(), Gossip(2)), federation, 2)
    assert len(records[1].available) < 6
    replies = small(world=World(availability=0.7))
    played(Peers(SGD(STEPS), Mean(), Gossip(2)), replies, 1)
    view = replies.view(2)
    plan = Peers(SGD(STEPS), Mean(), Gossip(2)).plan(view, {"listener": None})
    trained = replies.train(plan)
    scores = records[1].scores.clients
    expected = scores["accuracy"].copy()
    for client, model in zip(trained.clients.tolist(), trained.models, strict=True):
        expected[client] = judged(federation, model, *federation.clients.samples(client, "test"))[1]
    np.testing.assert_allclose(scores["accuracy_trained"], expected)
    assert not np.array_equal(scores["accuracy"], expected)


def test_personal_models_are_judged_in_three_moments_on_their_own_tests_and_on_common_ones():
    tune = Steps(epochs=3, batch_size=4, lr=0.2)
    federation = small(tuned=tune, tune_shared=False)
    (record,) = played(Peers(SGD(STEPS), Mean(), Gossip(2)), federation, 1)
    scores, clients = record.scores.clients, federation.clients
    moments = ["", "_trained", "_tuned"]
    assert set(scores) == {f"accuracy{where}{moment}" for where in ("", "_global") for moment in moments}
    common = clients.x_test[clients.common], clients.y_test[clients.common]
    for k, model in enumerate(federation.models):
        assert scores["accuracy_global"][k] == pytest.approx(judged(federation, model, *common)[1])
        home = Home(federation.crew.path, clients.samples(k, "train"), clients.seed, clients.keys[k], 1, purpose="tune")
        better = home.train(SGD(tune), model, {}).share
        for where, samples in (("", clients.samples(k, "test")), ("_global", common)):
            assert scores[f"accuracy{where}_tuned"][k] == pytest.approx(judged(federation, better, *samples)[1])
    shared = small(tuned=tune, tune_shared=False)
    (record,) = played(Central(SGD(STEPS), Mean(), These((1, 2))), shared, 1)
    assert set(record.scores.clients) == {"accuracy"}


def test_what_a_backbone_keeps_for_the_client_is_judged_too():
    federation = small()
    (record,) = played(Central(FineTune(SGD(STEPS), STEPS), Mean(), These((1, 2))), federation, 1)
    scores = record.scores.clients
    expected = scores["accuracy"].copy()
    for client in (1, 2):
        expected[client] = judged(federation, federation.homes.personal[client], *federation.clients.samples(client, "test"))[1]
    np.testing.assert_allclose(scores["accuracy_personal"], expected)


def test_models_can_be_judged_after_tuning_and_are_not_changed_by_it():
    tuned, plain = small(tuned=Steps(epochs=20, batch_size=4, lr=0.2)), small()
    recipe = Central(SGD(STEPS), Mean(), These((1, 2)))
    (with_tuning,), (without,) = played(recipe, tuned, 1), played(recipe, plain, 1)
    assert tuned.models.tobytes() == plain.models.tobytes()
    scores = with_tuning.scores.clients
    np.testing.assert_array_equal(scores["accuracy"], without.scores.clients["accuracy"])
    assert scores["accuracy_tuned"].mean() > scores["accuracy"].mean()


def test_models_are_judged_as_often_as_asked_and_at_the_start():
    federation = small(evaluate_every=3)
    assert federation.scores() is not None
    records = played(Central(SGD(STEPS), Mean(), These((1,))), federation, 7)
    assert [record.round for record in records if record.scores] == [3, 6]
    assert np.isnan(records[0].accuracy)
    often = small()
    played(Central(SGD(STEPS), Mean(), These((1,))), often, 7)
    assert often.models.tobytes() == federation.models.tobytes()
    assert often.evaluation_seconds > 0 and federation.evaluation_seconds > 0


def test_a_loss_of_ones_own_is_the_loss_that_is_shown():
    def doubled(outputs, y):
        return 2 * torch.nn.functional.cross_entropy(outputs, y, reduction="none")

    usual, other = small(), small(loss=doubled)
    assert other.scores().loss == pytest.approx(2 * usual.scores().loss, rel=1e-5)
    assert other.scores().accuracy == usual.scores().accuracy
