import dataclasses

import numpy as np
import pandas as pd
import pytest

from coterie.experiments import config
from coterie.experiments.problems import BadInputError
from coterie.experiments.reproduce import Options, _beside, fedcor_table1, fedcvr_tables
from coterie.experiments.reproduce._beside import Setting, play
from coterie.federation import Steps

EVERY = [(name, one) for module in (fedcor_table1, fedcvr_tables) for name, one in module.SETTINGS.items()]


NOTHING = Options()


def parsed(setting, options=NOTHING):
    asked = setting.asked(options)
    overrides = {(key,): (key, value) for key, value in asked.items() if key not in ("set", "partition", "training")}
    for table in ("partition", "training"):
        overrides |= {(table, key): (f"{table}.{key}", value) for key, value in asked.get(table, {}).items()}
    for label, settings in asked["set"].items():
        overrides |= {("set", label, key): (f"{label}.{key}", value) for key, value in settings.items()}
    return config.parse("", overrides)[0]


@pytest.mark.parametrize(("name", "setting"), EVERY, ids=[name for name, _ in EVERY])
def test_every_setting_is_an_experiment_whose_methods_can_be_built(name, setting):
    experiment = parsed(setting)
    recipes = {label: experiment.recipe(label) for label in experiment.labels}
    assert experiment.baseline == "uniform"
    assert set(setting.paper) <= set(recipes)
    assert {recipe.selector.per_round for recipe in recipes.values()} == {experiment.per_round}


def test_table_1_is_played_as_the_authors_did():
    experiment = parsed(fedcor_table1.SETTINGS["2spc"])
    assert experiment.training == Steps(epochs=3, batch_size=64, lr=5e-3, weight_decay=1e-4, halve_at=(150, 300))
    assert (experiment.rounds, experiment.per_round, experiment.target, experiment.holdout) == (500, 5, 0.69, 0.2)
    fedcor = experiment.recipe("fedcor").selector
    assert (fedcor.warmup, fedcor.refit_every, fedcor.beta, fedcor.dims) == (15, 10, 0.95, 15)
    on_cifar = parsed(fedcor_table1.SETTINGS["cifar-dir"]).recipe("fedcor").selector
    assert (on_cifar.warmup, on_cifar.refit_every, on_cifar.beta) == (20, 50, 0.9)


def test_fedcvr_is_averaged_by_size_with_all_that_it_is_compared_to():
    experiment = parsed(fedcvr_tables.SETTINGS["synthetic"])
    for label in experiment.labels:
        name = type(experiment.recipe(label).aggregator).__name__
        assert name == ("Mean" if label.endswith("-plain") else "BySize")
    assert experiment.recipe("fedcvr-bolt").selector.max_dim == 610


def test_options_count_more_and_wrong_ones_are_refused():
    setting = fedcor_table1.SETTINGS["2spc"]
    experiment = parsed(setting, Options(seeds="4,9", rounds=7, methods="fedcor,round-robin"))
    assert (experiment.seeds, experiment.rounds, experiment.labels) == ((4, 9), 7, ("fedcor", "round-robin"))
    assert experiment.baseline == "fedcor"
    assert parsed(setting, Options(seeds="2")).seeds == (1, 2)
    for wrong in (Options(seeds="many"), Options(methods="fedcorr")):
        with pytest.raises(BadInputError):
            setting.asked(wrong)
    with pytest.raises(BadInputError, match="3spc"):
        fedcor_table1.run(Options(setting="3spc"))


def test_a_reproduction_is_played_and_shown_beside_the_paper(tmp_path, capsys):
    setting = fedcvr_tables.SETTINGS["plane"]
    small = dataclasses.replace(setting, experiment={**setting.experiment, "clients": 8, "per_round": 2})
    options = Options(seeds="1", rounds=3, methods="uniform,fedcvr-bolt", jobs=1, out=tmp_path / "run")
    found = play("fedcvr-tables", {"plane": small}, options)
    assert found["paper"] == dict(setting.paper) and found["setting"] == "plane"
    assert found["methods"]["uniform"]["last_fifth_loss"]["mean"] > 0
    printed = capsys.readouterr().out
    assert "2.055" in printed and "fedcvr-bolt" in printed


def rounds(accuracy, models):
    """One method and seed: two trainers a round, each sent a model of 40 bytes both ways, and broadcasts of it."""
    count = len(accuracy)
    return pd.DataFrame(
        {
            "round": np.arange(1, count + 1),
            "accuracy": accuracy,
            "answered": [np.array([0, 1])] * count,
            "up_model": 80,
            "bytes_up": 80,
            "bytes_down": 80 + 40 * np.asarray(models),
            "bytes_between": 0,
            "client_accuracy": [np.array([level, 0.0, np.nan]) for level in accuracy],
        }
    )


def test_transfers_are_models_sent_one_way():
    sizes = np.array([3, 1, 9])
    table = rounds([0.1, 0.5, 0.6], [10, 0, 0])
    assert _beside.transfers(table).tolist() == [14, 4, 4]
    assert fedcor_table1.transfers_to_target(0.5)(table, sizes) == 18
    assert np.isnan(fedcor_table1.transfers_to_target(0.7)(table, sizes))
    assert fedcor_table1.at_transfers(20)(table, sizes) == pytest.approx(0.3)
    assert np.isnan(fedcor_table1.at_transfers(23)(table, sizes))
    assert _beside.clients_between(2, 3, weighted=False)(table, sizes) == pytest.approx(0.275)
    assert _beside.clients_between(2, 3, weighted=True)(table, sizes) == pytest.approx(0.4125)
    assert np.isnan(_beside.clients_between(2, 4, weighted=True)(table, sizes))
    assert _beside.clients_last_fifth(weighted=False)(table, sizes) == pytest.approx(0.3)


def test_table_1_ends_a_method_that_arrived_and_compares_rounds_and_transfers(tmp_path, capsys):
    setting = fedcor_table1.SETTINGS["2spc"]
    few = {"dataset": "digits", "clients": 12, "per_round": 2, "rounds": 6, "target": 0.2, "enough_rounds": 3}
    experiment = {**setting.experiment, **few, "training": {"lr": 0.1}}
    small = fedcor_table1.compared(setting.what, experiment, setting.methods, setting.paper)
    options = Options(seeds="2", methods="uniform,fedcor-probe", jobs=1, out=tmp_path / "run")
    found = play("fedcor-table1", {"2spc": small}, options)
    assert found["complete"] and set(found["ratios"]) == {"rounds_to_target", "transfers_to_target"}
    one = found["methods"]["uniform"]
    for rounds_to, transfers in zip(one["rounds_to_target"]["per_seed"], one["transfers_to_target"]["per_seed"], strict=True):
        assert (rounds_to is None) == (transfers is None) and (
            rounds_to is None or transfers == pytest.approx(4 * rounds_to, rel=0.01)
        )
    assert found["ratios"]["rounds_to_target"]["fedcor-probe"]["seeds"] == 2
    assert "295.8" in capsys.readouterr().out
    assert (tmp_path / "run" / "report.html").exists()


def test_a_setting_can_be_of_any_figure():
    assert {one.figure for _, one in EVERY} == {"rounds_to_target", "loss", "client_accuracy"}
    assert all(isinstance(one, Setting) for _, one in EVERY)
