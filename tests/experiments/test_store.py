import json

import numpy as np
import pandas as pd
import pytest

import coterie as ct
from coterie.experiments import decisions, listening, material, run
from coterie.experiments.comparison import resume
from coterie.experiments.store import Store
from tests.experiments import tiny


@pytest.fixture(scope="module")
def blobs(tmp_path_factory):
    return tiny.dataset(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def done(blobs, tmp_path_factory):
    store = tiny.begin(
        blobs, tmp_path_factory.mktemp("runs") / "run", methods=("uniform", "power-of-choice", "gossip"), seeds=(1, 2)
    )
    tiny.play(store)
    return store


def test_a_row_a_method_seed_and_round(done):
    table = ct.results(done.folder)
    assert len(table) == 3 * 2 * 5
    assert not table.duplicated(["method", "seed", "round"]).any()
    assert (table["seconds"] > 0).all()
    assert table["accuracy"].between(0, 1).all()


def test_available_asked_answered_and_used_are_four_things_and_each_in_the_one_before(done):
    log = decisions(done.folder)
    assert (log["available"] | ~log["asked"]).all()
    assert (log["asked"] | ~log["answered"]).all()
    assert (log["answered"] | ~log["used"]).all()
    assert log["asked"].sum() > log["answered"].sum() > 0


def test_why_not_is_said_of_everyone_who_was_not_used(done):
    log = decisions(done.folder)
    assert log.loc[log["used"], "why_not"].isna().all()
    assert log.loc[~log["used"], "why_not"].notna().all()
    assert {"not chosen"} < set(log["why_not"].dropna())


def test_scores_and_their_parts_are_logged(done):
    log = decisions(done.folder)
    looked_at = log[log["method"] == "power-of-choice"].filter(like="score").notna().any(axis=1)
    assert 0 < looked_at.sum() < (log["method"] == "power-of-choice").sum()


def test_the_log_and_the_rounds_agree(done):
    table, log = ct.results(done.folder), decisions(done.folder)
    asked = log[log["asked"]].groupby(["method", "seed", "round"])["client"].apply(list)
    named = dict(zip(log["client"], log["key"], strict=True))
    for row in table.itertuples():
        assert sorted(row.chosen) == asked.get((row.method, row.seed, row.round), [])
        assert list(row.chosen_keys) == [named[client] for client in row.chosen]


def test_who_listened_to_whom_is_written_down_where_there_is_no_server(done):
    table, log = ct.results(done.folder), listening(done.folder)
    assert set(log["method"]) == {"gossip"}
    sums = log.groupby(["seed", "round", "client"])["weight"].sum()
    np.testing.assert_allclose(sums, 1, atol=1e-5)
    for row in table[table["method"] == "gossip"].itertuples():
        heard = log[(log["seed"] == row.seed) & (log["round"] == row.round)]["heard"]
        assert set(heard) == set(row.used)


def test_a_report_shows_whom_clients_listened_to(done):
    made = material.of_run(done)
    assert set(made.heard) == {"gossip"}
    assert made.heard["gossip"].likeness[1].shape == (8, 8)


def test_only_the_heaviest_of_many_are_written_down(blobs, tmp_path, monkeypatch):
    monkeypatch.setattr("coterie.experiments.rows.LOUDEST", 2)
    store = tiny.begin(blobs, tmp_path / "run", methods=("afind-plus",))
    tiny.play(store)
    log = listening(store.folder)
    assert log.groupby(["round", "client"]).size().max() == 2
    assert log.groupby(["round", "client"])["weight"].sum().max() <= 1


def test_bytes_by_kind_add_up(done):
    table = ct.results(done.folder)
    for way in ("up", "down", "between"):
        kinds = table[[name for name in table if name.startswith(f"{way}_")]]
        assert (kinds.sum(axis=1) == table[f"bytes_{way}"]).all()
    assert table.loc[table["method"] == "gossip", "bytes_between"].sum() > 0


def test_methods_share_partition_first_model_and_world_in_pairs(done):
    table = ct.results(done.folder)
    there = table.pivot(index=["seed", "round"], columns="method", values="available")
    assert (there["uniform"] == there["gossip"]).all()


def test_an_unfinished_run_can_be_read(blobs, tmp_path):
    store = tiny.begin(blobs, tmp_path / "run")
    assert len(ct.results(store.folder)) == 0
    tiny.in_child(lambda: (tiny.dies_at(200), tiny.play(store, every=0.0)))
    table = ct.results(store.folder)
    assert 0 < len(table) < 2 * 5
    assert isinstance(table, pd.DataFrame)


def test_the_environment_names_versions_and_no_place(done):
    text = (done.folder / "environment.json").read_text()
    found = json.loads(text)
    assert found["seeds"] == [1, 2]
    assert found["libraries"]["numpy"] == np.__version__
    assert str(done.folder.parent) not in text


def test_parts_are_gone_once_merged_and_checkpoints_stay(done):
    for one in done.outline.cells:
        names = {path.suffix for path in done.cell(one).iterdir()}
        assert ".parquet" not in names
        assert ".npz" in names


def test_no_run_there():
    with pytest.raises(ValueError, match="no run is here"):
        ct.results("nowhere")


def test_a_free_name(tmp_path):
    assert run.free_name(tmp_path, "a").name == "a"
    (tmp_path / "a").mkdir()
    assert run.free_name(tmp_path, "a").name == "a-2"


def test_compare_from_python_with_a_recipe_of_ones_own(blobs, tmp_path):
    from coterie.selectors import Uniform

    mine = ct.catalog.central(Uniform)(per_round=3)
    found = ct.compare(
        dataset=str(blobs), model="linear", clients=8, per_round=2, rounds=3, seeds=2, jobs=1, out=tmp_path / "run",
        methods={"uniform": "uniform", "mine": mine}, partition={"scheme": "shards"}, training={"epochs": 1},
    )  # fmt: skip
    assert list(found.table.index) == ["uniform", "mine"]
    assert (found.rounds[found.rounds["method"] == "mine"]["chosen"].map(len) == 3).all()
    assert found.document["complete"]


def test_a_recipe_of_ones_own_is_resumed_from_python(blobs, tmp_path):
    mine = ct.catalog.uniform(per_round=3)
    settings = {"dataset": str(blobs), "model": "linear", "clients": 8, "per_round": 2, "rounds": 4, "seeds": 1, "jobs": 1}
    first = ct.compare(**settings, out=tmp_path / "a", methods={"uniform": "uniform", "mine": mine})
    store = Store(first.folder)
    expected = tiny.tables(store)
    for name in ("rounds", "decisions", "timings"):
        store.table(name).unlink()
    for one in store.outline.cells:
        for path in store.cell(one).glob("*.npz"):
            path.unlink()
    again = resume(first.folder, methods={"mine": mine}, jobs=1)
    assert tiny.tables(again.store) == expected
