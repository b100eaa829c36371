import numpy as np
import pytest

from coterie.aggregators import BySize
from coterie.backbones import SGD, Prox
from coterie.federation import Steps
from coterie.plan import USE, Plan
from coterie.recipe import Central
from coterie.simulation import World
from coterie.simulation.attacks import Attack
from coterie.simulation.gauges import USUAL, readings
from tests.simulation.small import These, played, small

TWICE = SGD(Steps(epochs=2, batch_size=5))
MEAN = World(attack="selfish", attackers=0.5, lazy_use=0.14)


def efforts(seed, t, clients, share, often, effort):
    return Attack("selfish", share).efforts(seed, t, clients, effort, often)


def test_who_is_lazy_now_and_then_works_in_the_other_rounds():
    who = Attack("selfish", 0.5).who(1, 100)
    lazy = np.mean([efforts(1, t, 100, 0.5, 0.3, 0.5) < 1 for t in range(200)], axis=0)
    assert (lazy[~who] == 0).all()
    assert lazy[who].mean() == pytest.approx(0.3, abs=0.02)
    assert set(efforts(1, 1, 100, 0.5, 0.3, 0.5)) == {0.5, 1.0}
    assert (efforts(1, 1, 100, 0.5, 1.0, 0.5) < 1).tolist() == who.tolist()


def test_the_gauges_of_those_who_do_nothing_read_nothing():
    for attack, idle in (("copy", True), ("sign-flip", False), ("none", False)):
        federation = small(world=World(attack=attack, attackers=0.5))
        use = federation.reality.use(1)[federation.reality.attack.who(1, 6)]
        assert (use < 0.05).all() if idle else (use > 0.5).all()


def test_gauges_read_what_is_given():
    gave = np.where(np.arange(4000) < 2000, 0.2, 1.0)
    read = readings(1, 1, gave, hiccups=0.0)
    assert read.shape == (4000, 3)
    assert (read >= 0).all() and (read <= 1).all()
    np.testing.assert_allclose(read.reshape(2, 2000, 3).mean(axis=1), [[0.2 * USUAL] * 3, [USUAL] * 3], rtol=0.02)
    stumbling = readings(1, 1, gave, hiccups=0.1)[2000:]
    assert stumbling.mean() == pytest.approx((0.9 + 0.1 * 0.1) * USUAL, rel=0.02)
    assert np.corrcoef(stumbling.T)[0, 1] > 0.8


def test_the_selfish_train_less_and_say_nothing_of_it():
    plan = Plan.star(range(6), TWICE, wants=frozenset(USE))
    trained = {}
    for world in (World(), MEAN):
        federation = small(world=world)
        federation.view(1)
        trained[world] = federation.train(plan)
    saves = Attack("selfish", 0.5).who(1, 6)
    honest, mixed = trained[World()], trained[MEAN]
    same = (honest.models == mixed.models).all(axis=1)
    assert same.tolist() == (~saves).tolist()
    assert mixed.counts.tolist() == honest.counts.tolist()
    way = np.linalg.norm(mixed.models - small().models, axis=1) / np.linalg.norm(honest.models - small().models, axis=1)
    assert (way[saves] < 0.6).all()
    assert (mixed.seconds[saves] < honest.seconds[saves]).all()
    assert (mixed.facts["use_cpu"][saves] < 0.3).all()
    assert (mixed.facts["use_cpu"][~saves] > 0.4).all()


def test_any_backbone_is_cut_short():
    world = World(attack="selfish", attackers=1.0)
    for backbone in (TWICE, Prox(0.1, TWICE.steps)):
        honest, lazy = (played(Central(backbone, BySize(), These((0, 1))), small(world=one), 1)[0] for one in (World(), world))
        assert lazy.duration < honest.duration
        assert not np.array_equal(lazy.merge.weights.toarray(), honest.merge.weights.toarray()) or lazy.scores != honest.scores


def test_readings_are_paid_as_numbers_and_are_no_evaluations():
    federation = small()
    federation.view(1)
    federation.train(Plan.star([0, 2], TWICE, wants=frozenset({"use_cpu", "loss_before"})))
    assert federation.meter().up == {"loss": 2 * 8, "model": 2 * 4 * 43, "telemetry": 2 * 8 * 4}
    assert federation.meter().evaluations == 2


def test_what_nobody_can_tell_is_refused_by_name():
    federation = small()
    federation.view(1)
    with pytest.raises(ValueError, match="nobody can tell 'use_gpu'"):
        federation.train(Plan.star([0], TWICE, wants=frozenset({"use_gpu"})))


def test_the_truth_is_not_in_the_window():
    federation = small(world=MEAN)
    view = federation.view(1)
    saves = federation.reality.efforts(1) < 1
    for name, column in view.roster.columns.items():
        assert len(np.unique(column[saves])) > 1 or not np.array_equal(column == column[saves][0], saves), name
    assert not [name for name in dir(view) if "attack" in name or "effort" in name]
