import numpy as np
import pytest

from coterie.aggregators import BySize, Mean
from coterie.backbones import SGD
from coterie.federation import Steps
from coterie.neighbors import Gossip
from coterie.recipe import Central, Peers
from coterie.report import Bounded, Report
from coterie.simulation import World
from coterie.simulation.attacks import ATTACKS, FREE_RIDES, SENDS, Attack, lazy
from tests.simulation.small import These, blobs, played, same, small

STEPS = Steps(epochs=2, batch_size=8, lr=0.1)
ALL = tuple(range(10))


class Watched(Mean):
    """Keeps what it was sent."""

    def __init__(self):
        object.__setattr__(self, "rounds", [])

    def weigh(self, view, plan, replies, state):
        starts = view.models[plan.start[np.searchsorted(plan.trainers, replies.clients)]]
        self.rounds.append((starts.copy(), replies))
        return super().weigh(view, plan, replies, state)


def watched(attack, rounds=3, **settings):
    """What came of each client in each round, beside what an honest world had brought; and who attacks."""
    runs = []
    for name in (attack, "none"):
        federation = small((20,) * 10, blobs(), world=World(attack=name, attackers=0.3, **settings))
        mean = Watched()
        list(played(Central(SGD(STEPS), mean, These(ALL)), federation, rounds))
        runs.append(mean.rounds)
    return *runs, federation.reality.attack.who(1, 10)


def updates(seen, t):
    starts, replies = seen[t]
    return replies.models - starts


@pytest.mark.parametrize("attack", sorted(set(SENDS) - {"nan", "replay", "replay-model"}))
def test_attackers_send_something_else_and_the_others_what_they_trained(attack):
    seen, honest, who = watched(attack, 1)
    assert who.sum() == 3
    sent, trained = updates(seen, 0), updates(honest, 0)
    np.testing.assert_array_equal(sent[~who], trained[~who])
    assert (np.abs(sent[who] - trained[who]).max(axis=1) > 1e-3).all()
    np.testing.assert_array_equal(seen[0][1].counts, honest[0][1].counts)


def test_free_riders_return_noise_or_deltas():
    seen, _, who = watched("return")
    assert not updates(seen, 1)[who].any()
    seen, honest, who = watched("noise", 1)
    np.testing.assert_allclose(*(np.linalg.norm(updates(run, 0)[who], axis=1) for run in (seen, honest)), rtol=1e-4)
    seen, _, who = watched("delta")
    step = seen[2][0][0] - seen[1][0][0]
    np.testing.assert_allclose(updates(seen, 2)[who], np.tile(step, (3, 1)), atol=1e-6)
    kinds = {Attack("free-rider", 1.0).kind(1, client) for client in range(50)}
    assert kinds == set(FREE_RIDES)


def test_disguises_are_near_what_they_hide():
    seen, _, who = watched("delta-noise")
    step = seen[2][0][0] - seen[1][0][0]
    off = np.linalg.norm(updates(seen, 2)[who] - step, axis=1) / np.linalg.norm(step)
    np.testing.assert_allclose(off, 0.1, rtol=1e-3)


def test_copies_are_of_honest_clients_and_come_after_them():
    seen, _, who = watched("copy", 1)
    sent, replies = updates(seen, 0), seen[0][1]
    for k in np.flatnonzero(who):
        (victim,) = [j for j in np.flatnonzero(~who) if np.allclose(sent[k], sent[j], atol=1e-6)]
        assert replies.seconds[k] > replies.seconds[victim]


def test_replays_are_of_the_first_training():
    seen, honest, who = watched("replay")
    np.testing.assert_array_equal(updates(seen, 0)[who], updates(honest, 0)[who])
    np.testing.assert_allclose(updates(seen, 2)[who], updates(seen, 0)[who], atol=1e-6)
    seen, _, who = watched("replay-model")
    np.testing.assert_array_equal(seen[2][1].models[who], seen[0][1].models[who])


def test_poison_is_turned_around_blown_up_or_of_one_goal():
    seen, honest, who = watched("sign-flip", 1)
    np.testing.assert_allclose(updates(seen, 0)[who], -updates(honest, 0)[who], atol=1e-6)
    seen, honest, who = watched("norm", 1)
    np.testing.assert_allclose(updates(seen, 0)[who], 100 * updates(honest, 0)[who], rtol=1e-3, atol=1e-4)
    seen, _, who = watched("replacement", 1)
    one, *rest = updates(seen, 0)[who]
    assert all(np.allclose(one, other) for other in rest)
    seen, _, who = watched("nan", 1)
    assert set(seen[0][1].rejected) == set(np.flatnonzero(who).tolist())


def test_the_selfish_train_a_little_and_are_done_sooner():
    seen, honest, who = watched("selfish", 1)
    lengths = [np.linalg.norm(updates(run, 0), axis=1) for run in (seen, honest)]
    assert (lengths[0][who] < 0.7 * lengths[1][who]).all()
    assert (seen[0][1].seconds[who] < honest[0][1].seconds[who]).all()
    assert lazy(Steps(epochs=3, batch_size=4), 8, 0.5) == Steps(epochs=3, batch_size=4, max_steps=3)
    assert lazy(Steps(epochs=1, batch_size=64), 8, 0.1).max_steps == 1


def test_liars_tell_of_more_than_there_is_and_train_honestly():
    for attack, column in (("false-size", "size"), ("false-speed", "speed"), ("false-loss", None)):
        lying, truth = (small((20,) * 10, world=World(attack=name, attackers=0.3, lie=4.0)) for name in (attack, "none"))
        who = lying.reality.attack.who(1, 10)
        if column:
            np.testing.assert_allclose(lying.roster[column] / truth.roster[column], np.where(who, 4, 1))
        views = [one.view(1) for one in (lying, truth)]
        told, true = (view.ask.losses(np.arange(10)) for view in views)
        np.testing.assert_allclose(told / true, np.where(who & (attack == "false-loss"), 4, 1))
        report = Report((Bounded("loss", 0, 100.0), Bounded("size", 0, 1000.0)), 1)
        told, true = (view.ask.reports(np.arange(10), report, 0) for view in views)
        changed = {"false-loss": [True, False], "false-size": [False, True], "false-speed": [False, False]}[attack]
        np.testing.assert_allclose(told / true, np.where(who[:, None] & np.array(changed), 4, 1))
    seen, honest, who = watched("false-loss", 1, lie=4.0)
    np.testing.assert_array_equal(seen[0][1].models, honest[0][1].models)
    np.testing.assert_allclose(seen[0][1].facts["loss"] / honest[0][1].facts["loss"], np.where(who, 4, 1))
    seen, honest, who = watched("false-size", 1, lie=4.0)
    np.testing.assert_array_equal(seen[0][1].models, honest[0][1].models)
    np.testing.assert_allclose(seen[0][1].counts / honest[0][1].counts, np.where(who, 4, 1))


def test_attackers_are_the_same_whatever_they_do_and_with_nobody_nothing_changes():
    who = [Attack(name, 0.2).who(3, 50) for name in ATTACKS]
    assert all((one == who[0]).all() and one.sum() == 10 for one in who)
    federations = [small(world=World(attack="sign-flip", attackers=0.0)), small()]
    for federation in federations:
        played(Central(SGD(STEPS), BySize(), These((0, 1, 2))), federation, 2)
    assert federations[0].models.tobytes() == federations[1].models.tobytes()


@pytest.mark.parametrize("attack", ["free-rider", "replay", "copy-noise"])
def test_a_resumed_run_meets_the_same_attackers(attack):
    world = World(attack=attack, attackers=0.5)
    recipe = Central(SGD(STEPS), Mean(), These((0, 1, 2, 3, 4, 5)))
    whole, first, second = (small(world=world) for _ in range(3))
    played(recipe, whole, 5)
    records = played(recipe, first, 2)
    second.restore(first.state())
    played(recipe, second, 5, records[-1].state)
    assert second.models.tobytes() == whole.models.tobytes()
    assert same(second.state()["memories"], whole.state()["memories"])


def test_without_a_server_attackers_send_to_their_neighbors():
    federation = small((20,) * 10, world=World(attack="return", attackers=0.3))
    records = played(Peers(SGD(STEPS), Mean(), Gossip(3)), federation, 2)
    assert len(records[-1].answered) == 10


@pytest.mark.parametrize(
    ("wrong", "says"),
    [({"attack": "sing-flip"}, "attack must be"), ({"attackers": 1.5}, "attackers must be"), ({"lie": 0.0}, "lie must be")],
)
def test_impossible_attacks_are_refused(wrong, says):
    with pytest.raises(ValueError, match=says.replace(" must be", ": must be")):
        World(**wrong)


def test_no_view_and_no_roster_tells_who_attacks():
    federation = small((20,) * 10, world=World(attack="sign-flip", attackers=0.3))
    view = federation.view(1)
    assert set(view.roster.columns) == set(small((20,) * 10).roster.columns)
    assert not [name for name in dir(view) if "attack" in name or "reality" in name]
