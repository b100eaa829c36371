import numpy as np
import pytest
from scipy.stats import spearmanr

from coterie import seeds
from coterie.privacy import Volumes
from coterie.privacy.volumes import Heard
from coterie.recipe import play
from coterie.testing import Toy
from tests.privacy.rounds import Overheard, played, recipe
from tests.simulation.small import small

SIZES = np.array([5.0, 40.0, 90.0])


def heard(rule, sizes, reports, dice):
    """What is known after so many reports, by the words of the source."""
    s = np.zeros(len(sizes))
    for _ in range(reports):
        noisy = np.minimum(sizes, rule.most) + dice.laplace(0, rule.most / rule.epsilon, len(sizes))
        s = rule.gamma * s + (1 - rule.gamma) * noisy
    return Heard(s, np.full(len(sizes), reports))


@pytest.mark.parametrize("reports", [1, 3, 20])
def test_volumes_are_unbiased_after_debiasing_and_short_by_the_young_average_without(reports):
    rule, dice, many = Volumes(epsilon=200.0, most=100.0), seeds.rng(1, "bias", reports), 4000
    found = np.array([rule.volumes(heard(rule, SIZES, reports, dice)) for _ in range(many)])
    np.testing.assert_allclose(found.mean(axis=0), SIZES, rtol=0.01)
    raw = np.mean([heard(rule, SIZES, reports, dice).smooth for _ in range(many)], axis=0)
    np.testing.assert_allclose(raw, (1 - 0.9**reports) * SIZES, rtol=0.01)


def test_volumes_are_at_least_one_and_those_unheard_count_as_the_median():
    rule = Volumes(gamma=0.0)
    found = rule.volumes(Heard(np.array([-30.0, 50.0, 20.0, 0.0]), np.array([1, 1, 1, 0])))
    assert found.tolist() == [1.0, 50.0, 20.0, 20.0]
    assert rule.volumes(Heard(np.zeros(2), np.zeros(2, int))).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("reports", "epsilon", "least", "most"), [(1, 10, 0.88, 1), (20, 1, 0.55, 0.70), (20, 2, 0.79, 0.90), (20, 4, 0.91, 0.98)]
)
def test_how_well_ranks_survive(reports, epsilon, least, most):
    """One report at 10 keeps .9; twenty cost twice to eight times that for the same (page: .62, .85, .95)."""
    rule, found = Volumes(epsilon=epsilon, most=500.0), []
    for run in range(30):
        dice = seeds.rng(run, "ranks", reports, epsilon)
        sizes = dice.uniform(10, 500, 100)
        found.append(spearmanr(rule.volumes(heard(rule, sizes, reports, dice)), sizes)[0])
    assert least <= np.mean(found) <= most


def test_a_client_reports_once_and_spends_once():
    with small() as federation:
        overheard = Overheard(Volumes(epsilon=0.7, most=50.0))
        records = list(play(recipe(overheard), federation, 4))
        assert [record.meter.epsilon for record in records] == pytest.approx([6 * 0.7, 0, 0, 0])
        np.testing.assert_allclose(federation.budget.spent, 0.7)
        assert len({tuple(roster["size"]) for roster in overheard.rosters}) == 1, "known from the first round on"
        assert records[0].meter.up["report"] == 6 * 8


def test_reports_of_every_round_add_up_and_are_smoothed():
    with small() as federation:
        rule = Volumes(epsilon=0.7, most=50.0, report_every="round")
        records = list(play(recipe(rule), federation, 3))
        np.testing.assert_allclose(federation.budget.spent, 3 * 0.7)
        state = records[-1].state["reporter"]
        assert state.reports.tolist() == [3] * 6
        first = list(play(recipe(rule), small(), 1))[-1].state["reporter"]
        assert not np.allclose(first.smooth, state.smooth)


def test_past_the_cap_a_client_keeps_its_volume():
    with small() as federation:
        rule = Volumes(epsilon=0.5, most=50.0, report_every="round", cap=1.2)
        state = list(play(recipe(rule), federation, 5))[-1].state["reporter"]
        assert state.reports.tolist() == [2] * 6
        np.testing.assert_allclose(federation.budget.spent, 1.0)


def test_the_server_sees_no_true_number():
    with small() as federation:
        record, told = played(Volumes(epsilon=1.0, most=50.0), federation)
        truth = federation.roster["size"][told.clients]
        assert (told.counts != truth).any()
        assert not told.facts
        assert not record.facts
        assert "telemetry" not in {kind for kind, count in record.meter.up.items() if count}


def test_exact_volumes_are_bounded_ones():
    _, told = played(Volumes(epsilon=np.inf, most=25.0), small())
    assert told.counts.max() == 25


def test_a_client_that_is_never_there_is_never_asked():
    toy = Toy(5, seed=2)
    played(Volumes(), toy)
    assert (toy.ask.budget.spent == 1.0).all()


def test_a_run_that_is_resumed_has_the_same_reports_and_the_same_totals():
    rule = recipe(Volumes(epsilon=0.3, most=50.0, report_every="round"))
    with small() as whole, small() as first, small() as later:
        list(play(rule, whole, 4))
        record = list(play(rule, first, 2))[-1]
        later.restore(first.state())
        list(play(rule, later, 4, record.state))
        np.testing.assert_array_equal(later.models, whole.models)
        np.testing.assert_array_equal(later.budget.spent, whole.budget.spent)


@pytest.mark.parametrize(
    ("setting", "value"), [("epsilon", 0), ("most", 0.5), ("most", np.inf), ("report_every", "day"), ("gamma", 1.0), ("cap", 0)]
)
def test_impossible_settings_are_refused(setting, value):
    with pytest.raises(ValueError, match=f"{setting}: must be"):
        Volumes(**{setting: value})
