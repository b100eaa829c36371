import numpy as np
import pandas as pd
import pytest

from coterie.experiments.reproduce.privshare_table import SETTINGS, in_use
from coterie.recipe import Personal
from tests.experiments.reproduce.test_beside import parsed


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_is_an_experiment(name):
    experiment = parsed(SETTINGS[name])
    recipes = {label: experiment.recipe(label) for label in experiment.labels}
    ours = [recipe for label, recipe in recipes.items() if isinstance(recipe, Personal)]
    assert len(ours) == (4 if name == "budgets" else 9)
    assert (experiment.clients, experiment.per_round) == (60, 10)


def test_budgets_are_what_a_client_spends_in_all():
    experiment = parsed(SETTINGS["budgets"])
    for epsilon in (0.5, 1.0, 4.0):
        recipe = experiment.recipe(f"privshare-{epsilon:g}")
        assert recipe.reporter.epsilon + recipe.former.epsilon == epsilon


def test_a_client_is_judged_by_the_model_that_it_would_use():
    shared, personal = [[0.1, 0.2], None, [0.5, 0.6]], [[0.9, 0.9], None, [0.7, np.nan]]
    rounds = pd.DataFrame({"client_accuracy": shared, "client_accuracy_personal": personal})
    assert in_use(rounds, None) == pytest.approx(0.65)
    assert in_use(rounds.drop(columns="client_accuracy_personal"), None) == pytest.approx(0.55)
    assert np.isnan(in_use(rounds.iloc[[1]], None))
