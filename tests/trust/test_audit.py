import numpy as np
import pytest

from coterie.aggregators import Mean
from coterie.backbones import SGD
from coterie.coalitions import Grand
from coterie.federation import Steps
from coterie.neighbors import Gossip
from coterie.recipe import ByCoalition, Central, Peers
from coterie.replies import Reply
from coterie.selectors import Uniform
from coterie.simulation import World
from coterie.simulation.behaviors import Behavior
from coterie.trust import Audit, Past
from coterie.trust import audit as words
from tests.simulation.small import blobs, played, small

CLIENTS, DIM = 30, 500


class Crowd:
    """Made-up clients whose updates have much in common, and a few who send something else."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.common, self.taste = self.rng.normal(size=(8, DIM)), self.rng.random((CLIENTS, 8))
        self.model, self.old, self.sent = self.rng.normal(size=DIM), None, {}
        self.audit, self.past, self.judged = Audit(), Past.none(CLIENTS), None

    def round(self, bad, made, arrival=None, losses=None):
        """One round in which `made(update, crowd, client)` stands for what the bad send, as an update."""
        ids = np.sort(self.rng.permutation(CLIENTS)[:20])
        like = 0.2 + self.taste[ids] + self.rng.random((20, 8))
        updates = like @ self.common + 0.3 * self.rng.normal(size=(20, DIM))
        self.ids, self.updates, honest = ids, updates, updates.copy()
        for i, k in enumerate(ids):
            if k in bad:
                updates[i] = made(honest[i], self, i)
        before = np.repeat(self.model[np.newaxis], 20, axis=0).astype(np.float32)
        after = (before + updates).astype(np.float32)
        came = np.zeros(20) if arrival is None else arrival(ids)
        given = None if losses is None else losses(ids)
        self.judged, self.past = self.audit.judge(ids, before, after, self.past, arrival=came, losses=given)
        self.sent.update(zip(ids.tolist(), after, strict=True))
        self.old, self.model = self.model, self.model + 0.1 * honest.mean(axis=0)
        return self.judged


def nothing(update, crowd, i):
    return np.zeros(DIM)


def noise(update, crowd, i):
    return crowd.rng.normal(size=DIM)


def last_step(update, crowd, i):
    return np.zeros(DIM) if crowd.old is None else 3 * (crowd.model - crowd.old)


def step_with_noise(update, crowd, i):
    return last_step(update, crowd, i) + 0.1 * crowd.rng.normal(size=DIM)


def own_model(update, crowd, i):
    sent = crowd.sent.get(int(crowd.ids[i]))
    return np.zeros(DIM) if sent is None else sent - crowd.model


def anothers(update, crowd, i):
    return 0.7 * crowd.updates[next(j for j, k in enumerate(crowd.ids) if k >= 5)]


def anothers_with_noise(update, crowd, i):
    return anothers(update, crowd, i) + 0.1 * crowd.rng.normal(size=DIM)


def boosted(update, crowd, i):
    return 20 * update


FREE_RIDES = [nothing, noise, last_step, step_with_noise, own_model, anothers, anothers_with_noise, boosted]


@pytest.mark.parametrize("made", FREE_RIDES)
def test_who_does_not_train_is_found_and_who_does_is_not(made):
    crowd, bad = Crowd(), {0, 1, 2, 3, 4}
    for t in range(10):
        judged = crowd.round(bad, made, arrival=lambda ids: np.isin(ids, list(bad)).astype(float))
        wrong = np.isin(judged.clients, list(bad))
        assert judged.honest[~wrong].all(), judged.doubts
        assert not judged.honest[wrong].any(), t
        assert all(bool(why) != good for why, good in zip(judged.reason, judged.honest, strict=True))
        np.testing.assert_array_equal(judged.score >= 1, ~judged.honest)
    trust = crowd.audit.trust(crowd.past)
    assert crowd.audit.suspects(trust).nonzero()[0].tolist() == sorted(bad)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (nothing, words.SENT_BACK),
        (noise, words.NOISE),
        (last_step, "it repeats the last step of the shared model"),
        (own_model, "it sent a model of its own again"),
        (anothers, "it copies another's update"),
        (anothers_with_noise, "it copies another's update, with noise on it"),
        (boosted, words.LARGE),
    ],
)
def test_it_says_why(made, why):
    crowd = Crowd(1)
    for _ in range(3):
        crowd.round(set(), nothing)
    judged = crowd.round({int(crowd.rng.integers(0, 5)) for _ in range(9)}, made, lambda ids: (ids < 5).astype(float))
    reasons = set(judged.doubts.values())
    assert why in reasons
    assert reasons <= {why, "it sent back the model that it was given"}


def test_without_training_nobody_is_found_and_newcomers_are_trusted():
    crowd = Crowd(2)
    assert crowd.audit.trust(crowd.past).tolist() == [1.0] * CLIENTS
    for _ in range(5):
        assert crowd.round(set(), nothing).honest.all()
    assert crowd.audit.trust(crowd.past).tolist() == [1.0] * CLIENTS


def test_of_two_that_are_alike_the_first_is_no_copy_and_without_times_neither_is_believed():
    def like_5(update, crowd, i):
        return crowd.updates[crowd.ids.tolist().index(5)] if 5 in crowd.ids else update

    for arrival, caught in [(lambda ids: (ids == 1).astype(float), {1}), (None, {1, 5})]:
        crowd = Crowd(3)
        while not (crowd.judged and {1, 5} <= set(crowd.ids.tolist())):
            crowd.past = Past.none(CLIENTS)
            crowd.round({1}, like_5, arrival)
        assert set(crowd.judged.doubts) == caught


def test_who_pushes_against_what_it_is_like_is_found():
    crowd, caught = Crowd(4), 0
    for _ in range(6):
        judged = crowd.round({0, 1}, lambda update, crowd, i: -update)
        caught += sum(why == words.AGAINST for why in judged.doubts.values())
        assert set(judged.doubts) <= {0, 1}
    assert caught


def test_pointing_against_others_adds_up_and_credit_does_not():
    crowd = Crowd(4)
    for _ in range(12):
        crowd.round(set(), nothing)
    assert (crowd.past.leans <= 1).all()
    assert np.median(crowd.past.leans) > 0.5
    caught = {}
    for t in range(12):
        for client in crowd.round({0, 1}, lambda update, crowd, i: -update).doubts:
            caught.setdefault(client, t)
    assert set(caught) == {0, 1}


def test_replies_that_are_no_models_cost_trust_and_late_or_second_ones_do_not():
    twice = World(broken_rate=1.0, broken=("twice", "stale"))
    for world, trusted in [(World(attack="nan", attackers=0.25), False), (twice, True)]:
        federation = small((20,) * 12, blobs(), world=world)
        records = played(Central(STEPS, Mean(), Uniform(8), trust=Audit()), federation, 8)
        bad = federation.reality.attack.who(1, 12) if not trusted else np.ones(12, bool)
        assert records[-1].rejected if trusted else set(records[0].rejected) <= set(np.flatnonzero(bad).tolist())
        suspected = Audit().suspects(Audit().trust(records[-1].state["trust"]))
        assert suspected.tolist() == (~np.full(12, trusted) & bad).tolist()


def test_a_loss_that_rises_far_more_than_others_is_found():
    crowd = Crowd(5)

    def losses(ids):
        return np.full(20, 2.0), np.where(ids == 7, 9.0, 1.5 + 0.1 * np.sin(ids))

    while crowd.judged is None or 7 not in crowd.ids:
        judged = crowd.round(set(), nothing, losses=losses)
    assert judged.doubts == {7: words.LOSS}
    unknown = crowd.round(set(), nothing, losses=lambda ids: (np.full(20, np.nan), np.full(20, np.nan)))
    assert not unknown.doubts


def test_one_bad_round_is_forgiven_and_two_are_not():
    trusted = [Audit().trust(_past(good, bad))[0] for good, bad in [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (10, 2)]]
    assert trusted == pytest.approx([1, 0.5, 1 / 3, 3 / 7, 0.5, 0.75])
    assert Audit().suspects(np.array(trusted)).tolist() == [False, False, True, True, False, False]


def _past(good, bad):
    past = Past.none(1)
    past.honest[:], past.dishonest[:] = good, 0
    return Past(**{**vars(past), "honest": np.array([good]), "dishonest": np.array([bad])})


def test_what_is_judged_does_not_depend_on_the_order_of_replies():
    crowd = Crowd(6)
    crowd.round({0, 3}, noise)
    ids, past = crowd.ids, crowd.past
    before = np.repeat(crowd.model[np.newaxis], 20, axis=0).astype(np.float32)
    after = (before + crowd.updates).astype(np.float32)
    order = np.random.default_rng(0).permutation(20)
    one, _ = crowd.audit.judge(ids, before, after, past)
    other, _ = crowd.audit.judge(ids[order], before[order], after[order], past)
    assert one.doubts == other.doubts
    np.testing.assert_allclose(one.score[order], other.score, rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"copy": 2.0}, "copy"), ({"large": 1.0}, "large"), ({"patience": 0.0}, "patience"), ({"sketch": 3}, "sketch")],
)
def test_settings_that_mean_nothing_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Audit(**settings)


class Idle(Behavior):
    """The first clients send back what they were given."""

    def __init__(self, count):
        self.count = count

    def acts(self, seed, round, clients):
        return np.arange(clients) < self.count

    def sends(self, reply: Reply, start, dice):
        return (Reply(reply.client, start.copy(), reply.count, reply.round, reply.facts, reply.seconds),)


STEPS = SGD(Steps(epochs=2, batch_size=8, lr=0.1))


@pytest.mark.parametrize(
    "recipe",
    [
        Central(STEPS, Mean(), Uniform(8), trust=Audit()),
        ByCoalition(STEPS, Mean(), Grand(), across=Mean(), trust=Audit()),
        ByCoalition(STEPS, Mean(), Grand(), trust=Audit()),
        Peers(STEPS, Mean(), Gossip(4), trust=Audit()),
    ],
)
def test_in_a_recipe_who_is_not_believed_has_no_influence_and_is_soon_left_out(recipe):
    federation = small((20,) * 12, blobs(), world=World(behaviors=(Idle(2),)))
    records = played(recipe, federation, 12)
    doubted = {client for record in records for client in record.doubted}
    assert {0, 1} <= doubted
    for record in records:
        assert not set(record.used.tolist()) & set(record.doubted)
        assert all(record.doubted[k] == words.SENT_BACK for k in {0, 1} & set(record.doubted))
    if isinstance(recipe, Peers):
        hears = records[-1].why.column("trust", 12)
        assert (hears[[0, 1]] < 0.5).all()
    else:
        assert not {0, 1} & set(records[-1].asked.tolist())
    assert (records[-1].why.column("trust", 12)[2:] >= 0.5).all()
