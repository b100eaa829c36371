import numpy as np
import pytest
from scipy import sparse
from torch import nn

from coterie.aggregators import BySize, Mean, Median
from coterie.backbones import SGD, FineTune
from coterie.coalitions import Fixed
from coterie.federation import Local, Steps
from coterie.neighbors import Gossip
from coterie.plan import Plan
from coterie.recipe import ByCoalition, Central, Peers
from coterie.rules import Backbone, Trained
from coterie.selectors import PowerOfChoice, Uniform
from coterie.simulation import World, dice
from coterie.testing import check_federation
from tests.oracles import fedavg
from tests.simulation.small import These, line, played, same, small

STEPS = Steps(epochs=2, batch_size=8, lr=0.1)
SHAPES = {
    "central": Central(SGD(STEPS), BySize(), PowerOfChoice(3, candidates=5)),
    "coalitions": ByCoalition(SGD(STEPS), Mean(), Fixed((0, 0, 1, 1, 1, -1))),
    "across": ByCoalition(SGD(STEPS), Mean(), Fixed((0, 0, 1, 1, 1, -1)), across=BySize()),
    "chained": ByCoalition(SGD(STEPS), Median(), Fixed((0, 0, 0, 1, 1, 1)), across=BySize()),
    "peers": Peers(SGD(STEPS), Mean(), Gossip(2)),
    "personal": Central(FineTune(SGD(STEPS), STEPS), Mean(), Uniform(3)),
}
WORLD = World(availability=0.8, fail_after=0.1, recovery=2, broken_rate=0.1, jitter=0.2)


class Memory(Backbone):
    """Counts in what it keeps how often a client trained."""

    def train(self, local: Local) -> Trained:
        times = local.kept.get("times", np.zeros_like(local.model)) + 1
        return Trained(local.descend(local.model, STEPS).model + times, keep={"times": times}, personal=times)


def test_a_round_is_the_one_that_a_plain_loop_makes():
    module = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))
    for momentum in (0.0, 0.9):
        steps = Steps(epochs=3, batch_size=8, lr=0.1, momentum=momentum)
        federation = small(model=module)
        (record,) = played(Central(SGD(steps), BySize(), These((0, 2, 3))), federation, 1)
        trained, counts = [], []
        for client in (0, 2, 3):
            x, y = federation.clients.samples(client, "train")
            orders = dice.epochs(1, 1, str(client), "train", 0, len(x), steps)
            trained.append(fedavg.train(module, x, y, orders, 8, 0.1, momentum))
            counts.append(len(x))
        np.testing.assert_allclose(federation.models[0], fedavg.average(trained, counts), atol=1e-5)
        assert record.used.tolist() == [0, 2, 3]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("workers", [1, 2])
def test_every_shape_learns_and_workers_do_not_show(shape, workers):
    with small(world=WORLD, workers=1) as federation:
        alone = played(SHAPES[shape], federation, 4)
        end = federation.state()
    with small(world=WORLD, workers=workers) as federation:
        records = played(SHAPES[shape], federation, 4)
        assert same(federation.state(), end)
    for one, other in zip(alone, records, strict=True):
        assert one.meter == other.meter
        assert one.accuracy == other.accuracy
        assert same(dict(one.scores.clients), dict(other.scores.clients))
        np.testing.assert_array_equal(one.used, other.used)
    with small(workers=1) as calm:
        losses = [record.loss for record in played(SHAPES[shape], calm, 6)]
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_an_interrupted_run_goes_on_to_the_same_bytes(shape):
    whole, half, fresh = small(world=WORLD), small(world=WORLD), small(world=WORLD)
    straight = played(SHAPES[shape], whole, 6)
    before = played(SHAPES[shape], half, 3)
    fresh.restore(half.state())
    after = played(SHAPES[shape], fresh, 6, before[-1].state)
    assert same(whole.state(), fresh.state())
    assert [record.meter for record in straight] == [record.meter for record in before + after]
    assert [record.duration for record in straight] == [record.duration for record in before + after]
    assert same([*map(vars, (r.scores for r in straight))][-1], [*map(vars, (r.scores for r in after))][-1])


def test_what_a_backbone_keeps_stays_and_survives_a_restore():
    recipe = Central(Memory(), Mean(), These((1, 4)))
    federation = small()
    (first, _) = played(recipe, federation, 2)
    assert (federation.homes.kept[1]["times"] == 2).all()
    assert set(federation.homes.kept) == {1, 4}
    other = small()
    other.restore(federation.state())
    assert same(other.state(), federation.state())
    played(recipe, other, 3, first.state)
    assert (other.homes.kept[4]["times"] == 3).all()


@pytest.mark.parametrize("world", [World(), World(availability=0.8, fail_during=0.2, recovery=2, broken_rate=0.2)])
def test_it_keeps_the_contract_of_federations(world):
    check_federation(lambda: small((12,) * 14, world=world), rounds=4)


def test_a_clients_training_depends_on_nobody_else():
    few, many = small(), small()
    view = few.view(1), many.view(1)
    one = few.train(Plan.star([2], SGD(STEPS)))
    all_ = many.train(Plan.star(view[1].present, SGD(STEPS)))
    np.testing.assert_array_equal(one.models[0], all_.models[2])
    assert one.facts["loss"][0] == all_.facts["loss"][2]


def test_rounds_of_nobody_and_of_one_are_legal():
    federation = small()
    start = federation.models.copy()
    (record,) = played(Central(SGD(STEPS), BySize(), These(())), federation, 1)
    np.testing.assert_array_equal(federation.models, start)
    assert (len(record.answered), record.meter.bytes, record.duration) == (0, 0, 0.0)
    records = played(Central(SGD(STEPS), BySize(), These((3,))), federation, 2)
    assert records[0].used.tolist() == [3]
    assert not np.array_equal(federation.models, start)


def test_an_empty_presence_can_be_shuffled_like_any_other():
    with small(world=World(presence="random", availability=0.0)) as fed:
        view = fed.view(1)
        assert len(view.rng.permutation(view.present)) == len(view.present) == 0


def test_a_round_short_of_replies_changes_nothing():
    federation = small()
    start = federation.models.copy()
    (record,) = played(Central(SGD(STEPS), BySize(), These((1, 2)), min_replies=3), federation, 1)
    np.testing.assert_array_equal(federation.models, start)
    assert (record.answered.tolist(), record.used.tolist()) == ([1, 2], [])


def test_clients_in_no_coalition_keep_their_model():
    federation = small()
    start = federation.models[0].copy()
    played(SHAPES["coalitions"], federation, 2)
    assert federation.follows.tolist() == [0, 0, 1, 1, 1, 2]
    np.testing.assert_array_equal(federation.models[2], start)
    assert not np.array_equal(federation.models[0], federation.models[1])


def test_a_client_without_training_samples_is_lost_not_fatal():
    federation = small((30, 0, 20))
    (record,) = played(Central(SGD(STEPS), BySize(), These((0, 1))), federation, 1)
    assert record.lost == {1: "no training samples"}
    assert record.used.tolist() == [0]
    assert federation.roster["size"].tolist() == [24, 0, 16]
    assert np.isnan(record.scores.clients["accuracy"]).tolist() == [False, True, False]


def test_a_regression_is_judged_by_its_loss():
    with small((40, 40, 40), line(), model="linear") as federation:
        records = played(Central(SGD(STEPS), BySize(), Uniform(3)), federation, 5)
    assert np.isnan(records[-1].accuracy)
    assert records[-1].loss < 0.2 * records[0].loss
    assert records[-1].scores.clients["loss"].shape == (3,)


def test_plans_that_speak_of_what_is_not_there_are_refused():
    federation = small()
    with pytest.raises(RuntimeError, match="no round is open"):
        federation.train(Plan.star([1], SGD()))
    federation.view(1)
    with pytest.raises(RuntimeError, match="nothing was trained"):
        federation.adopt(None, None)
    with pytest.raises(ValueError, match="'trainers' runs from 6 to 6, but there are 6 clients"):
        federation.train(Plan.star([6], SGD()))
    one = sparse.csr_array(np.ones((1, 1), bool))
    with pytest.raises(ValueError, match="'start' runs from 1 to 1, but there are 1 models of today"):
        federation.train(Plan(np.array([0]), np.array([1]), one, np.array([0]), SGD()))
    with pytest.raises(ValueError, match="'follows' must name a model for each of 6 clients"):
        federation.train(Plan(np.array([0]), np.array([0]), one, np.array([0]), SGD(), follows=np.zeros(2, int)))


def test_a_state_of_other_clients_is_refused():
    with pytest.raises(ValueError, match="do not fit"):
        small().restore(small((10, 10)).state())


def test_what_rules_see_cannot_be_changed():
    view = small().view(1)
    for array in (view.models, view.follows, view.present):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
