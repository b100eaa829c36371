import itertools
import random
import shutil
from dataclasses import replace

import pytest

from coterie.experiments import cell, checkpoint, config, grid, metrics, run, summary
from coterie.experiments.store import Store
from tests.experiments import tiny
from tests.promises.how_many import many


@pytest.fixture(scope="module")
def blobs(tmp_path_factory):
    return tiny.dataset(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def fresh(blobs, tmp_path_factory):
    """A run that has not begun, to be copied."""
    return tiny.begin(blobs, tmp_path_factory.mktemp("fresh") / "run")


@pytest.fixture(scope="module")
def whole_run(fresh, tmp_path_factory):
    """What an uninterrupted run leaves."""
    store = Store(tmp_path_factory.mktemp("whole") / "run")
    shutil.copytree(fresh.folder, store.folder)
    tiny.play(store)
    return tiny.tables(store)


def copy(fresh, tmp_path, name="run"):
    shutil.copytree(fresh.folder, tmp_path / name)
    return Store(tmp_path / name)


def test_killed_inside_every_phase_of_writing_and_resumed_the_tables_are_the_same_bytes(fresh, whole_run, tmp_path):
    killed = 0
    for step in [*range(48), *range(48, 600, 23)]:
        store = copy(fresh, tmp_path, f"step-{step}")
        ended = tiny.in_child(lambda store=store, step=step: (tiny.dies_at(step), tiny.play(store, every=0.0)))
        assert ended in (-9, 0)
        killed += ended == -9
        tiny.play(store)
        assert tiny.tables(store) == whole_run, f"killed at step {step}"
        shutil.rmtree(store.folder)
    assert killed >= 55


def test_killed_at_random_moments_again_and_again(fresh, whole_run, tmp_path):
    dice = random.Random(1)
    store = copy(fresh, tmp_path)
    killed = 0
    for _ in range(many(25, 120)):
        killed += tiny.in_child(lambda run=store: tiny.play(run, every=0.0), kill_after=dice.uniform(0, 0.05)) == -9
        if store.complete:
            assert tiny.tables(store) == whole_run
            shutil.rmtree(store.folder)
            store = copy(fresh, tmp_path)
    tiny.play(store)
    assert tiny.tables(store) == whole_run
    print(f"killed {killed} times")
    assert killed >= many(10, 50)


def test_a_resume_that_forgets_what_a_rule_learned_is_caught(fresh, whole_run, tmp_path, monkeypatch):
    load = checkpoint.load
    stores = {step: copy(fresh, tmp_path, f"step-{step}") for step in range(200, 400, 25)}
    for step, store in stores.items():
        tiny.in_child(lambda store=store, step=step: (tiny.dies_at(step), tiny.play(store, every=0.0)))
    monkeypatch.setattr(checkpoint, "load", lambda *given: _without_recipe(*load(*given)))
    for store in stores.values():
        tiny.play(store)
    assert any(tiny.tables(store) != whole_run for store in stores.values())


def _without_recipe(done, state):
    return done, None if state is None else {**state, "recipe": None}


def test_a_torn_checkpoint_falls_back_one(fresh, whole_run, tmp_path):
    store = copy(fresh, tmp_path)
    tiny.in_child(lambda: (tiny.dies_at(140), tiny.play(store, every=0.0)))
    torn = 0
    for one in store.outline.cells:
        place = store.cell(one)
        found = checkpoint.rounds(place)
        if len(found) < 2:
            continue
        newest = place / checkpoint.file_of(found[0])
        newest.write_bytes(newest.read_bytes()[: newest.stat().st_size // 2])
        assert checkpoint.load(place)[0] == found[1]
        torn += 1
    assert torn
    tiny.play(store)
    assert tiny.tables(store) == whole_run


def test_a_flipped_byte_in_a_checkpoint_is_noticed(fresh, tmp_path):
    store = copy(fresh, tmp_path)
    tiny.play(store, every=0.0)
    place = store.cell(store.outline.cells[0])
    newest, before = checkpoint.rounds(place)
    path = place / checkpoint.file_of(newest)
    content = bytearray(path.read_bytes())
    noticed = 0
    for spot in range(60, len(content), max(1, len(content) // 40)):
        damaged = content.copy()
        damaged[spot] ^= 0xFF
        path.write_bytes(damaged)
        noticed += checkpoint.load(place)[0] == before
    assert noticed >= 25  # the rest hit padding, or fields that nobody reads


def test_two_checkpoints_are_kept(fresh, tmp_path):
    store = copy(fresh, tmp_path)
    tiny.play(store, every=0.0)
    assert all(checkpoint.rounds(store.cell(one)) == [5, 4] for one in store.outline.cells)


def test_a_request_to_stop_ends_a_cell_after_its_round_and_leaves_a_run_that_resumes(fresh, whole_run, tmp_path, monkeypatch):
    store = copy(fresh, tmp_path)
    asked, tell = config.load(store.experiment), cell._tell
    monkeypatch.setattr(cell, "_tell", lambda place, t, accuracy: (tell(place, t, accuracy), t == 2 and store.stop.touch()))
    outcomes = [cell.run(store.folder, asked, one, cell.Settings()) for one in store.outline.cells]
    assert [one.state for one in outcomes] == ["stopped", "stopped"]
    assert [checkpoint.rounds(store.cell(one)) for one in store.outline.cells] == [[2], []]  # the second never began
    assert not run.finish(store)
    monkeypatch.undo()
    outcomes = list(grid.play(store, asked, jobs=1))
    assert {one.state for one in outcomes} == {"done"}
    assert run.finish(store)
    assert tiny.tables(store) == whole_run


def test_the_same_bytes_with_other_jobs_workers_and_backends(fresh, whole_run, tmp_path):
    asked = config.load(fresh.experiment)
    for name, jobs, on in [("two", 2, "loky"), ("threads", 3, "threading")]:
        store = copy(fresh, tmp_path, name)
        assert all(one.state == "done" for one in grid.play(store, asked, jobs=jobs, on=on))
        assert run.finish(store)
        assert tiny.tables(store) == whole_run, name
    store = copy(fresh, tmp_path, "workers")
    tiny.play(store, workers=2)
    assert tiny.tables(store) == whole_run


def test_two_processes_are_never_at_work_on_one_run(fresh, tmp_path):
    from coterie.experiments.locks import BusyError, held

    store = copy(fresh, tmp_path)
    with held(store.folder / "lock"), pytest.raises(BusyError, match="another process"):
        list(grid.play(store, config.load(store.experiment), jobs=1))


def test_a_cell_that_fails_says_why_and_does_not_stop_the_others(fresh, tmp_path):
    store = copy(fresh, tmp_path)
    store.partition(1).write_bytes(b"no partition")
    outcomes = list(grid.play(store, config.load(store.experiment), jobs=1))
    assert {one.state for one in outcomes} == {"failed"}
    assert "no partition file" in outcomes[0].reason
    assert "Traceback" in (store.cell(outcomes[0].cell) / "error.txt").read_text()
    assert not run.finish(store)


def test_enough_rounds_end_a_cell_that_reached_its_target_and_the_bytes_do_not_depend_on_interruptions(blobs, tmp_path):
    asked = replace(tiny.experiment(blobs, rounds=12), target=0.4, enough_rounds=4)
    store = run.start(asked, tmp_path / "whole")
    tiny.play(store)
    rounds = store.read("rounds").to_pandas()
    document = summary.document(store.outline, rounds.assign(seconds=0.0), store.sizes())
    assert store.complete and document["complete"]
    for one in store.outline.cells:
        own = rounds[rounds["method"] == one.method]
        reached = max(4, int(metrics.rounds_to(own, 0.4)))
        assert len(own) == min(reached, 12) and store.ended(one).exists() == (reached < 12)
    assert not grid.unfinished(store)
    for killed_after in (3, 4):
        again = run.start(asked, tmp_path / f"cut-{killed_after}")
        short = replace(asked, rounds=killed_after, enough_rounds=None)
        for one in again.outline.cells:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(cell, "_tell", _stopping(again, killed_after))
                cell.run(again.folder, short, one, cell.Settings(every=0.0))
            again.stop.unlink(missing_ok=True)
            again.ended(one).unlink(missing_ok=True)
        tiny.play(again)
        assert tiny.tables(again) == tiny.tables(store)


def _stopping(store, rounds):
    """Asks a run to stop when it is called for the so manieth time."""
    calls = itertools.count(1)
    return lambda *told: store.stop.touch() if next(calls) == rounds else None
