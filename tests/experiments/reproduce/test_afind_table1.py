import numpy as np
import pandas as pd
import pytest

from coterie.catalog import METHODS
from coterie.experiments.reproduce import afind_table1
from coterie.experiments.reproduce.afind_table1 import MORE, SETTINGS
from coterie.recipe import Peers
from tests.experiments.reproduce.test_beside import parsed


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_is_an_experiment_with_local_as_its_baseline(name):
    experiment = parsed(SETTINGS[name])
    assert experiment.baseline == "local" and experiment.fine_tuned == "always"
    recipes = {label: experiment.recipe(label) for label in experiment.labels}
    assert set(SETTINGS[name].paper) <= set(recipes)
    assert all(isinstance(recipe, Peers) for label, recipe in recipes.items() if label != "fedavg")


def test_table_1_is_played_as_the_paper_says():
    experiment = parsed(SETTINGS["cifar-dir0.1"])
    assert (experiment.clients, experiment.rounds, experiment.training.batch_size) == (100, 500, 128)
    assert experiment.training.momentum == 0.9 and experiment.partition.alpha == 0.1
    printed = experiment.recipe("afind-plus-printed")
    assert printed == METHODS["afind-plus-printed"].build(backbone=printed.backbone)
    assert experiment.recipe("pens").listener.search == 200
    assert parsed(SETTINGS["half"]).recipe("federico").listener.topology == "half"
    assert parsed(SETTINGS["small-planted"]).partition.groups == 2
    assert parsed(SETTINGS["privacy"]).recipe("noise-5").listener.noise == 5


def test_the_best_evaluated_round_counts_for_each_reading():
    rounds = pd.DataFrame(
        {"client_accuracy": [[0.1, 0.3], None, [0.2, 0.2]], "client_accuracy_tuned": [[0.5, np.nan], None, [0.4, 0.4]]}
    )
    assert MORE["best_client_accuracy"](rounds, None) == pytest.approx(0.2)
    assert MORE["best_client_accuracy_tuned"](rounds, None) == 0.5
    assert np.isnan(afind_table1.best("_trained")(rounds, None))
