from types import SimpleNamespace

import numpy as np
import pytest

from coterie.roster import Roster
from coterie.selectors import VolumeContribution
from tests.simulation.small import small


class Telling:
    """Clients whose losses and slopes are known; counts what is asked."""

    def __init__(self, losses, slopes):
        self.truth, self.asked = np.column_stack([losses, slopes]), []

    def reports(self, clients, report, about=0, *, among=None):
        self.asked.append((report, np.asarray(about).tolist()))
        return self.truth[clients]


def view_of(sizes, losses, slopes, seed=0, present=None):
    n = len(sizes)
    notes = {}
    return SimpleNamespace(
        round=3,
        roster=Roster.of(map(str, range(n)), size=np.array(sizes)),
        present=np.arange(n) if present is None else np.array(present),
        follows=np.arange(n) + 5,
        ask=Telling(losses, slopes),
        rng=np.random.default_rng(seed),
        note=lambda ids, **columns: notes.update(columns),
        notes=notes,
    )


def test_the_highest_scores_are_ranks_of_volume_and_contribution():
    view = view_of([10, 40, 30, 20], [4.0, 1.0, 3.0, 2.0], [0.0, 0.0, 2.0, 0.0])
    assert VolumeContribution(1, "top", lam=1.0).choose(view, None).tolist() == [1]
    assert VolumeContribution(1, "top", lam=0.0).choose(view, None).tolist() == [2]
    assert VolumeContribution(2, "top", lam=0.5).choose(view, None).tolist() == [1, 2]
    np.testing.assert_allclose(view.notes["score"], [1 / 3, 0.5, 5 / 6, 1 / 3])


def test_contributions_are_weighed_as_told():
    view = view_of([1, 1, 1], [1.0, 2.0, 3.0], [9.0, 5.0, 1.0])
    assert VolumeContribution(1, "top", lam=0.0, eta_loss=0.0).choose(view, None).tolist() == [0]
    assert VolumeContribution(1, "top", lam=0.0, eta_gradient=0.0).choose(view, None).tolist() == [2]


def test_it_asks_in_private_about_the_models_that_clients_would_start_from():
    view = view_of([1, 2, 3], [1.0, 2.0, 3.0], [1.0, 1.0, 1.0], present=[0, 2])
    VolumeContribution(1, epsilon_loss=0.5, epsilon_gradient=0.25, clip_loss=3.0).choose(view, None)
    ((report, about),) = view.ask.asked
    assert (report.epsilon, report.occasion, report.names, about) == (0.75, 3, ("loss", "gradient"), [5, 7])
    assert report.numbers[0].scale == 6.0


@pytest.mark.parametrize("settings", [{"select": "uniform"}, {"select": "score", "lam": 1.0}])
def test_where_no_contribution_counts_nobody_is_asked(settings):
    view = view_of([1, 2, 3], [1.0, 2.0, 3.0], [1.0, 1.0, 1.0])
    assert len(VolumeContribution(2, **settings).choose(view, None)) == 2
    assert not view.ask.asked


def test_the_draw_favors_high_scores_and_starves_nobody():
    times, view = np.zeros(5), view_of([10, 20, 30, 40, 50], [1.0] * 5, [1.0] * 5)
    for _ in range(6000):
        times[VolumeContribution(1, lam=1.0, temperature=0.5).choose(view, None)] += 1
    odds = np.exp(np.linspace(0, 1, 5) / 0.5)
    np.testing.assert_allclose(times / 6000, odds / odds.sum(), atol=0.02)
    assert times.min() > 0


def test_who_does_not_answer_counts_as_the_median():
    view = view_of([1, 1, 1, 1], [1.0, np.nan, 2.0, 3.0], [1.0] * 4)
    VolumeContribution(1, lam=0.0).choose(view, None)
    assert view.notes["contribution"].tolist() == [0.0, 0.5, 0.5, 1.0]


def overlap(epsilon, runs=120):
    """The mean true percentile of the ten that are chosen of a hundred, by losses and slopes under noise."""
    found = []
    for run in range(runs):
        dice = np.random.default_rng(run)
        truth = dice.gamma(2.0, 1.0, (100, 2))
        clip = np.quantile(truth, 0.95, axis=0)
        noisy = np.minimum(truth, clip) + dice.laplace(0, clip / (epsilon / 2), (100, 2))
        view = view_of([1] * 100, noisy[:, 0], noisy[:, 1])
        chosen = VolumeContribution(10, "top", lam=0.0).choose(view, None)
        rank = np.argsort(np.argsort(np.minimum(truth, clip).sum(axis=1))) / 99
        found.append(rank[chosen].mean())
    return float(np.mean(found))


@pytest.mark.parametrize(
    ("epsilon", "least", "most"), [(0.1, 0.45, 0.55), (1.0, 0.49, 0.62), (4.0, 0.62, 0.78), (1e6, 0.93, 0.96)]
)
def test_what_noise_leaves_of_the_choice(epsilon, least, most):
    """Below a budget of 2 a round it is next to random choice."""
    assert least <= overlap(epsilon) <= most


def test_in_a_federation_every_report_is_metered():
    from coterie.catalog import method
    from coterie.recipe import play

    recipe = method("volume-contribution", per_round=2, settings={"epsilon_loss": 0.5, "epsilon_gradient": 0.5, "cap": 2.5})
    with small() as federation:
        spent = [record.meter.epsilon for record in play(recipe, federation, 4)]
        assert spent == pytest.approx([6.0, 6.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("setting", "value"),
    [("per_round", 0), ("select", "best"), ("lam", 1.5), ("temperature", 0.0), ("eta_loss", -1.0), ("eta_gradient", -1.0)],
)
def test_impossible_settings_are_refused(setting, value):
    with pytest.raises(ValueError, match=f"{setting}: must be"):
        VolumeContribution(**{"per_round": 3, setting: value})
