import dataclasses

import pytest

from coterie.experiments import config
from coterie.experiments.problems import BadInputError
from coterie.experiments.reproduce import Options, fedcor_table1, fedcvr_tables
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
    assert {type(experiment.recipe(label).aggregator).__name__ for label in experiment.labels} == {"BySize"}
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


def test_a_setting_can_be_of_any_figure():
    assert {one.figure for _, one in EVERY} == {"rounds_to_target", "loss", "client_accuracy"}
    assert all(isinstance(one, Setting) for _, one in EVERY)
