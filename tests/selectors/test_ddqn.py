from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie import seeds
from coterie.backbones import SGD
from coterie.federation import Steps
from coterie.replies import Replies
from coterie.roster import Roster
from coterie.selectors import Ddqn
from coterie.selectors.ddqn import Network, double_targets, states, usual_use
from coterie.simulation import World
from tests.oracles import ddqn as oracle
from tests.simulation.small import played, small


def plain(net):
    return net.inward.tolist(), net.bias.tolist(), net.outward.tolist(), net.shift.tolist()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 6))
def test_targets_and_steps_are_those_of_a_plain_network(seed, count, hidden):
    dice = np.random.Generator(np.random.PCG64(seed))
    online, target = (Network.drawn(3, hidden, dice) for _ in range(2))
    before, after = dice.random((2, count, 3))
    actions, rewards = dice.integers(0, 2, count), dice.normal(size=count)
    aims = double_targets(online, target, rewards, after, 0.7)
    by_hand = [oracle.target(plain(online), plain(target), r, x, 0.7) for r, x in zip(rewards, after.tolist(), strict=True)]
    np.testing.assert_allclose(aims, by_hand, rtol=1e-12, atol=1e-12)
    stepped = online.stepped(before, actions, aims, 0.3)
    expected = oracle.step(plain(online), before.tolist(), actions.tolist(), by_hand, 0.3)
    for found, wanted in zip(plain(stepped), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_the_network_learns_what_it_is_told():
    dice = seeds.rng(1, "states")
    x = dice.random((200, 3))
    net, actions = Network.drawn(3, 16, dice), np.arange(200) % 2
    wanted = np.where(actions == 1, x[:, 0] - 0.5, 0.0)
    for _ in range(3000):
        net = net.stepped(x, actions, wanted, 0.3)
    error = net.values(x)[np.arange(200), actions] - wanted
    assert np.abs(error).mean() < 0.05


def test_a_lazy_one_among_others_is_unusual_and_so_is_one_that_overdoes_it():
    told = np.tile([0.6, 0.5], (9, 1))
    told[3], told[5] = [0.12, 0.1], [0.9, 0.75]
    good = usual_use(told)
    assert good.argsort()[:2].tolist() == [3, 5]
    np.testing.assert_allclose(good[[3, 5, 0]], [0.2, 0.5, 1.0])
    assert usual_use(np.full((2, 2), -1.0)).tolist() == [1, 1]
    assert usual_use(np.zeros((2, 2))).tolist() == [1, 1]


def test_it_comes_to_leave_the_lazy_alone():
    sizes = [12] * 20
    federation = small(sizes, world=World(attack="selfish", attackers=0.3, lazy_use=0.15))
    lazy = np.flatnonzero(federation.reality.efforts(1) < 1)
    recipe = coterie.ddqn(per_round=10, backbone=SGD(Steps(epochs=1, batch_size=6)))
    records = played(recipe, federation, 30)
    share = [np.isin(record.asked, lazy).mean() for record in records]
    assert all(len(record.asked) == 10 for record in records)
    assert np.mean(share[:3]) > 0.15
    assert np.mean(share[-8:]) < 0.1


def test_without_exploration_the_best_valued_are_taken():
    rule = Ddqn(2, exploration=0, exploration_min=0)
    state = rule.begin(Roster.of(map(str, range(5)), size=np.ones(5)))
    values = np.array([0.0, 0.9, 0.3, 1.0, 0.5])
    net = Network(np.array([[1.0], [0], [0]]), np.zeros(1), np.array([[0.0, 1]]), np.zeros(2))
    state = SimpleNamespace(**{**vars(state), "trust": values, "online": net})
    view = SimpleNamespace(present=np.array([0, 1, 2, 4]), rng=seeds.rng(1, "choose"), note=lambda *args, **columns: None)
    assert rule.choose(view, state).tolist() == [1, 4]


def test_memories_are_bounded_and_hold_who_was_left():
    rule = Ddqn(2, kept=7, steps=0)
    state = rule.begin(Roster.of(map(str, range(5)), size=np.ones(5)))
    view = SimpleNamespace(present=np.arange(4), rng=seeds.rng(1, "learn"), seed=1)
    facts = {"use_cpu": np.array([0.8, 0.4]), "use_ram": np.array([0.8, -1.0])}
    replies = Replies(np.array([1, 3]), np.zeros((2, 4), np.float32), np.ones(2, np.int64), facts)
    once = rule.learn(view, None, replies, state)
    assert (once.actions.tolist(), once.rewards.round(3).tolist()) == ([1, 1, 0, 0], [0.667, 0.333, 0, 0])
    np.testing.assert_allclose(states(once)[3], [0.5 + 0.5 * (2 / 3), 0.4, 0.0])
    assert len(rule.learn(view, None, replies, once).actions) == 7
    assert state.rounds == 0
    silent = Replies(np.array([1]), np.zeros((1, 4), np.float32), np.ones(1, np.int64))
    assert rule.learn(view, None, silent, state).online is None


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"per_round": 0}, "per_round: must be"),
        ({"exploration": 2}, "exploration: must be in"),
        ({"decay": 0}, "decay: must be in"),
        ({"discount": 1}, "discount: must be in"),
        ({"rate": -1}, "rate: must be"),
        ({"steps": -1}, "steps: must be"),
        ({"copy_every": 0}, "copy_every: must be"),
    ],
)
def test_impossible_settings_are_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        Ddqn(**{"per_round": 3, **wrong})
