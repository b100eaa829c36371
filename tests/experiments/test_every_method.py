"""What a run promises, for every method that there is."""

import shutil

import pytest

from coterie.catalog import METHODS
from coterie.experiments import cell, config, run
from coterie.experiments.store import Store
from tests.experiments import tiny


@pytest.fixture(scope="module")
def blobs(tmp_path_factory):
    return tiny.dataset(tmp_path_factory.mktemp("data"))


@pytest.mark.parametrize("method", METHODS)
def test_stopped_at_any_round_and_resumed_by_other_workers_it_is_the_same_bytes(method, blobs, tmp_path, monkeypatch):
    fresh = tiny.begin(blobs, tmp_path / "fresh", methods=(method,), seeds=(1,), rounds=4)
    whole, cut = Store(tmp_path / "whole"), Store(tmp_path / "cut")
    for store in (whole, cut):
        shutil.copytree(fresh.folder, store.folder)
    tiny.play(whole)
    asked, tell = config.load(cut.experiment), cell._tell
    monkeypatch.setattr(cell, "_tell", lambda place, t, accuracy: (tell(place, t, accuracy), cut.stop.touch()))
    rounds = 0
    while not run.finish(cut):
        cut.stop.unlink(missing_ok=True)
        outcome = cell.run(cut.folder, asked, cut.outline.cells[0], cell.Settings(workers=1 + rounds % 2))
        assert outcome.state != "failed", outcome.reason
        rounds += 1
    assert rounds == 4
    assert tiny.tables(cut) == tiny.tables(whole)
