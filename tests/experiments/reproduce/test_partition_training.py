import json

import numpy as np
import pytest

from coterie.experiments.problems import BadInputError
from coterie.experiments.reproduce import Options, partition_training
from coterie.experiments.reproduce.partition_training import Figures, told_of
from tests.experiments.reproduce.test_beside import parsed

SMALL = {"dataset": "digits", "model": "mlp-bn", "clients": 12, "rounds": 2, "per_round": 4, "evaluate_every": 2}


@pytest.mark.parametrize("name", partition_training.SETTINGS)
def test_every_setting_is_an_experiment_whose_methods_can_be_built(name):
    figures = partition_training.SETTINGS[name]
    for partition in partition_training.partitions(figures.clusters).values():
        asked = {**figures.asked(Options()), "partition": partition}
        experiment = parsed(type("Asked", (), {"asked": lambda self, options, asked=asked: asked})())
        assert experiment.rounds % experiment.evaluate_every == 0
        recipes = {label: experiment.recipe(label) for label in experiment.labels}
        assert recipes["fedl2p"].backbone.pretrain == experiment.rounds // 2
        assert recipes["cluster-fl"].former.groups == figures.clusters
        assert {recipe.selector.per_round for recipe in recipes.values()} == {experiment.per_round}


def test_fewer_rounds_end_in_one_that_is_evaluated():
    figures = partition_training.SETTINGS["fashion-k10"]
    for rounds, played, every in ((47, 40, 10), (7, 7, 7), (100, 100, 10)):
        asked = figures.asked(Options(rounds=rounds))
        assert (asked["rounds"], asked["evaluate_every"]) == (played, every)
        assert asked["set"]["fedl2p"]["pretrain"] == played // 2


def test_it_says_how_far_two_level_is_from_the_others():
    found = {
        "two-level": {"a": {"all": [0.2, 0.3], "own": [0.9, 0.8]}},
        "iid": {"a": {"all": [0.5, 0.5], "own": [0.5, 0.5]}},
        "linear": {"a": {"all": [0.4, 0.8], "own": [0.7, 0.7]}},
    }
    told = told_of(found)["a"]
    assert told["all"]["below_lowest"]["per_seed"] == pytest.approx([-0.2, -0.2])
    assert told["all"]["below_mean"]["per_seed"] == pytest.approx([-0.25, -0.35])
    assert told["own"]["below_lowest"]["mean"] == pytest.approx(0.35)
    assert told["own"]["under"]["linear"]["mean"] == pytest.approx(0.7)


def test_all_methods_are_played_under_all_partitions_and_judged_either_way(tmp_path, monkeypatch, capsys):
    tiny = {name: partition_training.partitions(3)[name] for name in ("two-level", "linear")}
    monkeypatch.setattr(partition_training, "partitions", lambda clusters: tiny)
    monkeypatch.setitem(partition_training.SETTINGS, "tiny", Figures.of("Digits", 10, {"fedavg": "1 against 2"}, **SMALL))
    few = "fedavg,fed-bn,fedl2p"
    options = Options(setting="tiny", seeds="1", methods=few, jobs=1, out=tmp_path / "run")
    found = partition_training.run(options)
    json.dumps(found)
    shown = capsys.readouterr().out
    assert "fedl2p" in shown and "fedavg 1 against 2" in shown
    assert ",".join(found["methods"]) == few
    for ways in found["methods"].values():
        for one in ways.values():
            assert all(0 < value <= 1 for told in one["under"].values() for value in told["per_seed"])
    assert found["methods"]["fed-bn"]["own"]["under"]["linear"]["per_seed"][0] == _personal(tmp_path / "run" / "linear")
    with pytest.raises(BadInputError, match="is there already"):
        partition_training.run(options)


def _personal(folder):
    """As the run's own table has it, which was judged on clients' own label shares."""
    from coterie import results

    rows = results(folder)
    last = rows[(rows["method"] == "fed-bn") & (rows["seed"] == 1)].iloc[-1]
    return float(np.nanmean(last["client_accuracy_personal"]))


def test_an_unknown_setting_is_refused():
    with pytest.raises(BadInputError, match="fashion-k10"):
        partition_training.run(Options(setting="6.5"))
