"""A run whose app a SuperLink plays: what is written, what the app does on a grid, what became of each cell."""

import sys
import tomllib

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs the extra coterie[flower]")

from flwr.common import Context, RecordDict

from coterie.experiments import checkpoint, config, on_superlink, run
from coterie.experiments.problems import BadInputError
from tests.experiments import tiny
from tests.flower.near import Near


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    data = tiny.dataset(tmp_path_factory.mktemp("data"))
    return "engine = 'flower'\n" + tiny.text(data, methods=("power-of-choice", "ditto"), seeds=(1, 2)).partition("[world]")[0]


def begun(text, folder):
    return run.start(config.parse(text)[0], folder)


def server(store, near):
    """What `flwr run` has the SuperLink do."""
    from coterie.experiments.flower_app import server as app

    asked = {"folder": str(store.folder.resolve()), "every": 0.0}
    app(grid=near, context=Context(run_id=1, node_id=0, node_config={}, state=RecordDict(), run_config=asked))


def grid(nodes=8):
    from coterie.experiments.flower_app import client

    return Near(client, {10**18 - 7 * k: {"partition-id": k} for k in range(nodes)})


def last(store, one):
    return checkpoint.load(store.cell(one))[1]["federation"]


def test_its_app_plays_the_run_to_the_simulations_models(text, tmp_path):
    here, there = begun(text.replace("flower", "simulation"), tmp_path / "here"), begun(text, tmp_path / "there")
    tiny.play(here, every=0)
    server(there, grid())
    assert run.finish(there)
    assert here.read("rounds")["chosen"].to_pylist() == there.read("rounds")["chosen"].to_pylist()
    for one in here.outline.cells:
        np.testing.assert_allclose(last(there, one)["models"], last(here, one)["models"], atol=1e-5)


def test_nodes_draw_their_samples_anew_and_need_nothing_but_their_role(text, tmp_path):
    store, near = begun(text, tmp_path / "run"), grid()
    server(store, near)
    roles = [message.content["coterie"] for message in near.kinds("query.coterie_begin")]
    assert {role["seed"] for role in roles} == {1, 2}
    assert all(str(tmp_path) not in role["experiment"] for role in roles)


def test_too_many_nodes_are_refused(text, tmp_path, capsys):
    store = begun(text, tmp_path / "run")
    server(store, grid(9))
    assert "it needs as many" in capsys.readouterr().out


def test_the_app_is_one_that_flower_can_send(text, tmp_path):
    app = on_superlink.write(tmp_path / "it's an app", tmp_path / "it's a run", 2.0)
    written = tomllib.loads((app / "pyproject.toml").read_text())["tool"]["flwr"]["app"]
    assert written["config"] == {"folder": str(tmp_path / "it's a run"), "every": 2.0}
    for module in written["components"].values():
        path = app / (module.partition(":")[0].replace(".", "/") + ".py")
        assert "import" in path.read_text()
        compile(path.read_text(), str(path), "exec")


@pytest.mark.parametrize("left", [0, 1, 2])
def test_it_says_what_became_of_each_cell(left, text, tmp_path, monkeypatch):
    """In place of `flwr` a program that plays some of the cells and then fails."""
    store = begun(text.replace("[1, 2]", "[1]"), tmp_path / "run")
    cells = store.outline.cells
    monkeypatch.setattr(on_superlink.grid, "unfinished", lambda store, first=[cells, cells[:left]]: first.pop(0))
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "flwr"
    program.write_text('#!/bin/sh\necho "$@"; echo "no such SuperLink" >&2; exit 1\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    outcomes = list(on_superlink.play(store, "ours", clients=8))
    assert [one.state for one in outcomes] == ["failed"] * left + ["done"] * (2 - left)
    assert all("no such SuperLink" in one.reason for one in outcomes[:left])
    assert (
        "run" in (store.folder / "flower.log").read_text() and "num-supernodes=8" in (store.folder / "flower.log").read_text()
    )


def test_without_flower_it_says_how_to_get_it(text, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(BadInputError, match="coterie"):
        list(on_superlink.play(begun(text, tmp_path / "run"), "ours", clients=8))
