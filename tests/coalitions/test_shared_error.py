import numpy as np
import pytest

from coterie import play
from coterie.aggregators import BySize
from coterie.backbones import SGD
from coterie.coalitions import ErrorHedonic, SharedError
from coterie.coalitions.shared_error import Estimates
from coterie.coalitions.threshold import by_function, by_parameters
from coterie.federation import Steps
from coterie.privacy import Exact
from coterie.recipe import Personal
from coterie.selectors import Uniform
from coterie.testing import Toy
from tests.coalitions.test_error_hedonic import view_of
from tests.simulation.small import small

STEPS = SGD(Steps(epochs=2, batch_size=8, lr=0.1))


def believing(noise, variance, sights=1, doubts=(0.0, 0.0), clients=6):
    return Estimates(noise, variance, doubts, sights, np.zeros(clients, bool))


def recipe(former, per_round=4):
    return Personal(STEPS, BySize(), Uniform(per_round), former, Exact())


SIZES = np.array([40, 45, 400, 42, 9, 900])


def test_it_plays_the_game_at_the_threshold_that_it_believes_in():
    found = SharedError().form(view_of([0, 1, 2, 3, 5], size=SIZES), believing(100.0, 2.0))
    game = ErrorHedonic(50.0).form(view_of([0, 1, 2, 3, 5], size=SIZES), None)
    np.testing.assert_array_equal(found.labels, game.labels)
    assert found.certificate["threshold"] == 50.0
    assert found.certificate["nash"] is True
    assert found.certificate["optimal"] == [0, 0, 1, 0, 2]


def test_before_it_has_seen_anything_everybody_is_together():
    found = SharedError().form(view_of([1, 3], size=SIZES), SharedError().begin(view_of([], size=SIZES).roster))
    assert found.labels.tolist() == [-1, 0, -1, 0, -1, -1]


def test_the_controls_estimate_and_do_not_play():
    view = view_of([0, 2, 5], size=SIZES)
    assert SharedError(structure="grand").form(view, believing(1.0, 9.0)).labels.tolist() == [0, -1, 0, -1, -1, 0]
    alone = SharedError(structure="alone").form(view, believing(900.0, 1.0))
    assert alone.labels.tolist() == [0, -1, 1, -1, -1, 2]
    assert alone.certificate["threshold"] == 900.0


def test_estimates_are_floored_and_an_estimate_within_its_own_noise_is_none():
    rule = SharedError(floor=0.01)
    assert rule.threshold(believing(5.0, -1.0)) == 500.0
    assert rule.threshold(believing(-5.0, 1.0)) == 0.01
    assert np.isnan(rule.threshold(believing(5.0, 1.0, doubts=(36.0, 0.0))))
    assert rule.threshold(believing(5.0, 1.0, doubts=(16.0, 0.5))) == 5.0
    assert np.isnan(rule.threshold(believing(5.0, 1.0, sights=0)))


def observed(rule, rounds, **settings):
    """The estimates after each of some rounds."""
    with small(**settings) as federation:
        return [record.state["former"] for record in play(recipe(rule), federation, rounds)]


def test_one_sight_is_what_participants_told():
    with small() as federation:
        rule = recipe(SharedError(clip_gap=10.0, clip_spread=10.0), per_round=6)
        view = federation.view(1)
        state = rule.begin(federation.roster)
        plan = rule.plan(view, state)
        replies = federation.train(plan)
        told = view.ask.reports(
            replies.clients, SharedError(clip_gap=10.0, clip_spread=10.0).question(1), np.arange(6), among=replies
        )
        _, state = rule.mix(view, plan, replies, state)
        seen = by_function(federation.roster["size"].astype(float), told[:, 0], told[:, 1])
        assert (state["former"].noise, state["former"].variance) == pytest.approx((seen.noise, seen.variance))
        assert state["former"].told.all()


@pytest.mark.parametrize("reading", ["sum", "per-coordinate"])
def test_the_readings_of_parameters_need_losses_only(reading):
    with small() as federation:
        rule = SharedError(reading)
        assert rule.question(1).names == ("training_loss",)
        whole = recipe(rule, per_round=6)
        view, state = federation.view(1), whole.begin(federation.roster)
        plan = whole.plan(view, state)
        replies = federation.train(plan)
        losses = view.ask.losses(replies.clients, np.arange(6), among=replies, split="train")
        _, state = whole.mix(view, plan, replies, state)
        seen = by_parameters(losses, replies.models, reading)
        assert (state["former"].noise, state["former"].variance) == pytest.approx((seen.noise, seen.variance))


def test_the_average_is_plain_in_the_warm_up_and_exponential_after_it():
    states = observed(SharedError(observe="round", warmup=2, gamma=0.75), 4)
    single = observed(SharedError(observe="round", warmup=1, gamma=0.0), 4)
    shown = [state.noise for state in single]
    assert states[1].noise == pytest.approx((shown[0] + shown[1]) / 2)
    assert states[2].noise == pytest.approx(0.75 * states[1].noise + 0.25 * shown[2])
    assert states[3].sights == 4


def test_each_client_reports_once_or_whenever_it_takes_part():
    once = SharedError(epsilon=0.5)
    with small() as federation:
        records = list(play(recipe(once), federation, 8))
        np.testing.assert_allclose(federation.budget.spent, 0.5)
        assert sum(record.meter.epsilon for record in records) == pytest.approx(3.0)
    with small() as federation:
        times = np.zeros(6)
        for record in play(recipe(SharedError(epsilon=0.5, observe="round")), federation, 5):
            times[record.used] += 1
        np.testing.assert_allclose(federation.budget.spent, 0.5 * times)


def test_doubts_are_those_of_the_noise():
    """Many clients with nothing to tell: how far estimates scatter is what is said."""
    rule = SharedError(epsilon=4.0, clip_gap=0.5, clip_spread=2.0)
    sizes, dice = np.array([10.0, 50.0, 90.0]), np.random.default_rng(1)
    scales = [one.scale for one in rule.question(1).numbers]
    seen = [by_function(sizes, *(dice.laplace(0, scale, 3) for scale in scales)) for _ in range(40_000)]
    found = rule._doubts(sizes)
    assert np.var([sight.noise for sight in seen]) == pytest.approx(found[0], rel=0.05)
    assert np.var([sight.variance for sight in seen]) == pytest.approx(found[1], rel=0.05)


def test_with_a_dimension_the_noise_is_that_of_the_losses():
    rule = SharedError(dimension=7)
    assert rule.question(1).names == ("gap", "spread", "training_loss")
    states = observed(rule, 1)
    assert states[0].noise > 0
    assert SharedError("sum", epsilon=1.0)._doubts(np.ones(4)) == (2 * 5.0**2 / 4, 0.0)


def test_nobody_learns_of_a_lonely_round():
    toy = Toy(3, seed=1)
    state = [record.state["former"] for record in play(recipe(SharedError(), per_round=1), toy, 3)][-1]
    assert state.sights == 0


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("variance", "printed"),
        ("gamma", 1.0),
        ("warmup", 0),
        ("from_round", 0),
        ("observe", "never"),
        ("dimension", 0),
        ("epsilon", 0.0),
        ("floor", 0.0),
        ("structure", "pairs"),
        ("stability", "core"),
        ("cap", 0.0),
    ],
)
def test_impossible_settings_are_refused(setting, value):
    with pytest.raises(ValueError, match=f"{setting}: must be"):
        SharedError(**{setting: value})


def test_impossible_bounds_are_refused():
    with pytest.raises(ValueError, match="bounds must be finite"):
        SharedError(clip_spread=0.0)
