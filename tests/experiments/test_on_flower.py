"""An experiment on Flower's own simulation is the experiment that the simulation plays."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("ray", reason="needs the extra coterie[flower]")

from coterie.experiments import cell, checkpoint, config, federations, on_flower, run
from coterie.experiments.problems import BadInputError
from coterie.experiments.store import Store
from coterie.flower import client_app
from tests.experiments import tiny
from tests.flower.near import Near

PATIENCE = 1200.0
"""Seconds for a run of some seconds, on a machine that has much else to do."""


def coterie(*words, check=True):
    run = [sys.executable, "-c", "import sys; from coterie.cli import main; sys.exit(main())", *map(str, words)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, "NO_COLOR": "1"})
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A small experiment in a world where nothing goes wrong."""
    folder = tmp_path_factory.mktemp("flower")
    text = tiny.text(tiny.dataset(folder), methods=("fedcor", "ditto"), rounds=4).partition("[world]")[0]
    (folder / "tiny.toml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def both(written):
    """The JSON of the run on each engine."""
    plain = ["--set", "fedcor.warmup=2", "--checkpoint-every", "0"]
    coterie("compare", written / "tiny.toml", *plain, "--out", written / "here", "--json", written / "here.json", "--jobs", 1)
    far = ["--out", written / "there", "--json", written / "there.json", "--workers", 2]
    coterie("flower", "run", written / "tiny.toml", *plain, *far)
    return [json.loads((written / f"{name}.json").read_text()) for name in ("here", "there")]


CLOCKS = {"seconds_per_round", "simulated_seconds", "seconds_to_target"}
"""Figures that tell the time."""


def without_clocks(document):
    if isinstance(document, dict):
        return {key: without_clocks(value) for key, value in document.items() if key not in CLOCKS}
    return [without_clocks(value) for value in document] if isinstance(document, list) else document


def test_the_same_schema_choices_and_figures(both):
    here, there = map(without_clocks, both)
    assert there["trace"] == here["trace"]
    assert there["methods"].keys() == here["methods"].keys()
    for method, figures in here["methods"].items():
        for name, figure in figures.items():
            assert _close(there["methods"][method][name], figure), (method, name)


def _close(one, other):
    if isinstance(other, dict):
        return one.keys() == other.keys() and all(_close(one[key], other[key]) for key in other)
    if isinstance(other, list):
        return len(one) == len(other) and all(map(_close, one, other))
    return one == other or one == pytest.approx(other, abs=1e-4)


def test_the_same_models(both, written):
    stores = [Store(written / name) for name in ("here", "there")]
    for one in stores[0].outline.cells:
        (here, a), (there, b) = [_last(store.cell(one)) for store in stores]
        assert here == there == 4
        np.testing.assert_allclose(b["federation"]["models"], a["federation"]["models"], atol=1e-5)


def _last(place):
    found = max(checkpoint.rounds(place))
    return found, checkpoint.load(place, found)[1]


@pytest.fixture
def near_by(monkeypatch):
    """The same without Ray: nodes in this process."""

    def grid(experiment, nodes, workers):
        app = client_app(on_flower.Held(experiment), portable=True)
        return Near(app, {10**18 - 7 * k: {"partition-id": k} for k in range(nodes)})

    monkeypatch.setattr(on_flower, "_grid", grid)


@pytest.mark.parametrize("method", ["ditto", "fed-bn", "fedcor", "cluster-fl"])
def test_it_goes_on_to_the_same_bytes(method, written, tmp_path, near_by):
    """Stopped after two rounds and resumed with other nodes: what clients keep comes back from the checkpoint."""
    text = "engine = 'flower'\n" + (written / "tiny.toml").read_text().replace('"fedcor", "ditto"', f'"{method}"')
    whole, other = (run.start(config.parse(text)[0], tmp_path / name) for name in ("whole", "other"))
    tiny.play(whole, every=0)
    (one,) = other.outline.cells
    (other.cell(one)).mkdir(parents=True)
    played = cell.Settings(every=0)
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr(cell, "_tell", lambda place, t, accuracy: other.stop.touch() if t == 2 else None)
        assert cell.run(other.folder, config.load(other.experiment), one, played).state == "stopped"
    other.stop.unlink()
    assert _last(other.cell(one))[0] == 2
    tiny.play(other, every=0)
    a, b = (_last(store.cell(one))[1]["federation"] for store in (whole, other))
    np.testing.assert_array_equal(a["models"], b["models"])
    assert str(a["kept"]) == str(b["kept"])


def test_what_is_simulated_only_is_refused(written):
    text = (written / "tiny.toml").read_text() + "[world]\navailability = 0.8\n"
    experiment, where = config.parse('engine = "flower"\n' + text)
    with pytest.raises(BadInputError, match=r"world\.availability"):
        federations.prepare(experiment, where)
