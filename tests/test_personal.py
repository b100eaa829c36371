"""A server that keeps a model for each client: coalitions of the day, and the reference behind them."""

import numpy as np
import pytest

import coterie
from coterie import play
from coterie.aggregators import BySize, Coarse, Median
from coterie.backbones import SGD
from coterie.coalitions import Fixed, Grand
from coterie.data import Dataset
from coterie.federation import Steps
from coterie.privacy import Exact
from coterie.recipe import Personal
from coterie.selectors import PowerOfChoice, Uniform
from coterie.simulation import World
from tests.simulation.small import These, parted, small

STEPS = SGD(Steps(epochs=1, batch_size=8, lr=0.1))


def recipe(selector, former=None, aggregator=None, **settings):
    return Personal(STEPS, aggregator or BySize(), selector, former or Grand(), Exact(), **settings)


def played(federation, rule, rounds):
    return list(play(rule, federation, rounds))


def test_members_of_a_coalition_mix_and_the_last_model_is_the_mean_of_all():
    with small() as federation:
        rule = recipe(These((0, 1, 3, 4)), Fixed((0, 0, 0, 1, 1, 1)))
        view, state = federation.view(1), rule.begin(federation.roster)
        plan = rule.plan(view, state)
        replies = federation.train(plan)
        merge, _ = rule.mix(view, plan, replies, state)
        merge.check(plan, replies)
        federation.adopt(merge, replies)
        n = federation.roster["size"][[0, 1, 3, 4]].astype(float)
        one = n[:2] / n[:2].sum() @ replies.models[:2]
        other = n[2:] / n[2:].sum() @ replies.models[2:]
        for row, expected in [(0, one), (1, one), (3, other), (4, other), (6, n / n.sum() @ replies.models)]:
            np.testing.assert_allclose(federation.models[row], expected, rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(federation.models[[2, 5]], np.repeat(view.models[:1], 2, axis=0))
        assert federation.follows.tolist() == [0, 1, 6, 3, 4, 6]


def test_the_reference_is_the_weighted_center_of_the_coalitions():
    """Eq. 60 and 61: what coalitions hold, times what each of them is the mean of."""
    with small() as federation:
        played(federation, recipe(These((0, 1, 3, 4)), Fixed((0, 0, 0, 1, 1, 1))), 1)
        n, models = federation.roster["size"].astype(float), federation.models
        p = np.array([n[[0, 1]].sum(), n[[3, 4]].sum()])
        np.testing.assert_allclose(models[6], p / p.sum() @ models[[0, 3]], rtol=1e-4, atol=1e-6)


def starts(federation, rule, rounds, trained):
    """The row each client would start from in the last round, if so many trained in the rounds before."""
    state = rule.begin(federation.roster)
    found = None
    for record in play(rule, federation, rounds, state):
        found = record.state
    view = federation.view(federation.round + 1)
    return rule._start(view, found).tolist()


def test_new_clients_and_those_away_start_from_the_reference():
    with small() as federation:
        rule = recipe(These((0, 2)), absent_after=2)
        assert starts(federation, rule, 1, None) == [0, 6, 2, 6, 6, 6]
        list(
            play(
                recipe(These((4,)), absent_after=2),
                federation,
                3,
                {**rule.begin(federation.roster), "trained": np.array([1, 0, 1, 0, 0, 0])},
            )
        )
        view = federation.view(4)
        state = {**rule.begin(federation.roster), "trained": np.array([1, 0, 1, 0, 3, 2])}
        assert rule._start(view, state).tolist() == [6, 6, 6, 6, 4, 5]


def test_without_the_soft_update_everybody_starts_from_its_own():
    with small() as federation:
        assert starts(federation, recipe(These((0, 2)), absent_after=None), 2, None) == [0, 1, 2, 3, 4, 5]


def test_whose_reply_is_lost_keeps_its_model():
    with small(world=World(fail_during=0.5)) as federation:
        before = None
        for record in play(recipe(Uniform(6)), federation, 4):
            if before is not None:
                lost = list(record.lost)
                assert record.lost.keys() <= set(record.asked.tolist())
                np.testing.assert_array_equal(federation.models[lost], before[lost])
            before = federation.models.copy()
        assert record.round == 4


def test_a_round_without_enough_replies_changes_nothing():
    with small(world=World(fail_during=1.0)) as federation:
        first = federation.models[0].copy()
        record = played(federation, recipe(Uniform(3)), 2)[-1]
        assert not len(record.used)
        np.testing.assert_array_equal(federation.models, np.repeat(first[np.newaxis], 7, axis=0))


def test_statistics_that_are_no_mixing_work_too():
    with small() as federation:
        played(federation, recipe(Uniform(4), aggregator=Median()), 3)
        assert np.isfinite(federation.models).all()


def test_nothing_is_sent_but_models():
    with small() as federation:
        record = played(federation, recipe(Uniform(4)), 1)[0]
        assert record.facts == {}
        assert {kind for kind, count in record.meter.up.items() if count} == {"model"}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_resumed_run_is_the_same_run(workers):
    rule = coterie.privshare(3, epsilon=3.0, most=60.0, select="score", epsilon_contribution=1.0, backbone=STEPS)
    with small(workers=workers) as whole, small(workers=1) as first, small(workers=1) as later:
        played(whole, rule, 6)
        record = played(first, rule, 3)[-1]
        later.restore(first.state())
        list(play(rule, later, 6, record.state))
        np.testing.assert_array_equal(later.models, whole.models)
        np.testing.assert_array_equal(later.budget.spent, whole.budget.spent)


def test_what_privshare_spends_in_all_is_its_epsilon():
    rule = coterie.privshare(3, epsilon=3.0, most=60.0, backbone=STEPS)
    with small() as federation:
        records = played(federation, rule, 12)
        np.testing.assert_allclose(federation.budget.spent, 3.0)
        assert sum(record.meter.epsilon for record in records) == pytest.approx(18.0)


def test_rules_that_want_facts_and_impossible_settings_are_refused():
    class Wanting(BySize):
        wants = frozenset({"loss_after"})

    with pytest.raises(ValueError, match="cannot want 'loss_after'"):
        recipe(Uniform(2), aggregator=Wanting())
    with pytest.raises(ValueError, match="absent_after: must be"):
        recipe(Uniform(2), absent_after=0)
    assert recipe(PowerOfChoice(2, 3)).wants == frozenset()


def two_groups(clients=12, per_client=20):
    """Regressions whose clients come in two groups of opposite slopes."""
    dice = np.random.default_rng(3)
    group = np.arange(clients) % 2
    x = dice.normal(size=(clients * per_client, 2)).astype(np.float32)
    slope = np.where(group[:, np.newaxis] == 0, [1.0, 2.0], [-1.0, -2.0])
    y = np.einsum("id,id->i", x, np.repeat(slope, per_client, axis=0)) + 0.3 * dice.normal(size=len(x))
    data = Dataset.of("groups", x, y.astype(np.float32), x[:10], y[:10].astype(np.float32))
    return coterie.simulate(
        data, partition=parted(data, [per_client] * clients), model="line", seed=1, workers=1, evaluate_every=1000
    )


def spread_of(federation):
    own = federation.models[:-1].astype(float)
    return float(((own - own.mean(axis=0)) ** 2).sum(axis=1).mean())


@pytest.mark.parametrize("absent_after", [2, None])
def test_the_variance_of_models_stays_bounded_over_500_rounds(absent_after):
    """Two groups of slopes ±(1, 2) are 5 apart in variance: with the soft update models stay well under it, and settle."""
    gentle = SGD(Steps(epochs=1, batch_size=16, lr=0.02))
    rule = Personal(gentle, Coarse(5.0), Uniform(4), Grand(), Exact(), absent_after)
    with two_groups() as federation:
        course = [spread_of(federation) for record in play(rule, federation, 500) if record.round % 20 == 0]
    late = np.array(course[10:])
    assert late.max() < 6.0
    assert abs(np.polyfit(np.arange(len(late)), late, 1)[0]) * len(late) < 1.0, "it still moves"
    if absent_after is not None:
        assert late.mean() < 2.5
