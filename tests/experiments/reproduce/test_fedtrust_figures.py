import numpy as np
import pytest

from coterie.experiments.problems import BadInputError
from coterie.experiments.reproduce import Options, fedtrust_figures
from coterie.experiments.reproduce._beside import Setting
from coterie.simulation import World
from coterie.simulation.attacks import Attack
from coterie.simulation.world import Reality


def test_who_trained_is_scored_by_who_is_selfish():
    selfish = np.flatnonzero(Attack("selfish", 0.2).who(1, 10)).tolist()
    honest = np.setdiff1d(np.arange(10), selfish).tolist()
    trace = [{"method": "all", "seed": 1, "chosen": list(range(10))} for _ in range(5)]
    trace += [{"method": "found", "seed": 1, "chosen": list(range(10)) if t < 4 else honest[:6]} for t in range(5)]
    trace += [{"method": "nobody", "seed": 1, "chosen": []}]
    found = fedtrust_figures.trained(trace, 10)
    means = {method: {name: one["mean"] for name, one in each.items()} for method, each in found.items()}
    assert means["all"] == {"selfish_share": 0.2, "selfish_alone": 0, "honest_alone": 0, "alone": 0}
    assert means["found"] == {"selfish_share": 0, "selfish_alone": 1, "honest_alone": 0.25, "alone": 0.4}
    assert means["nobody"] == {"selfish_share": 0, "selfish_alone": 1, "honest_alone": 1, "alone": 1}


def test_the_score_knows_the_same_selfish_as_the_world():
    world = World(attack="selfish", attackers=fedtrust_figures.SELFISH)
    reality = Reality(world, tuple(map(str, range(40))), np.full(40, 9), 3)
    assert np.array_equal(reality.efforts(1) < 1, Attack("selfish", fedtrust_figures.SELFISH).who(3, 40))


def test_a_setting_is_played_and_shown_beside_the_thesis(monkeypatch, tmp_path, capsys):
    asked = fedtrust_figures.SETTINGS["n20"]
    small = {**asked.experiment, "dataset": "digits", "model": "linear", "partition": {"scheme": "iid"}, "rounds": 4}
    tiny = Setting(asked.what, {**small, "evaluate_every": 2}, asked.methods, asked.figure, asked.paper, seeds=2)
    monkeypatch.setattr(fedtrust_figures, "SETTINGS", {"n20": tiny})
    found = fedtrust_figures.run(Options(setting="n20", jobs=1, out=tmp_path))
    assert found["trained"]["fedtrust"]["selfish_share"]["mean"] == 0
    assert found["trained"]["fedtrust-printed"]["selfish_share"]["mean"] > 0
    assert set(found["over_fedavg"]) == {"ddqn", "fedtrust", "fedtrust-printed"}
    assert "5 % at most" in capsys.readouterr().out


def test_unknown_settings_are_refused():
    with pytest.raises(BadInputError, match=r"thresholds|setting"):
        fedtrust_figures.run(Options(setting="n30"))
