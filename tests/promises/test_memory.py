"""A long run does not grow: memory after the first 500 rounds and at the end, in a process of its own."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from coterie.experiments import cell, config
from tests.experiments import tiny
from tests.promises.how_many import many

ROUNDS = many(1000, 10_000)
WARM = 500
ALLOWED = 0.02
METHODS = many(("oort",), ("uniform", "oort", "gossip", "cluster-fl", "fedadam"))


@pytest.fixture(scope="module")
def blobs(tmp_path_factory):
    return tiny.dataset(tmp_path_factory.mktemp("data"))


def resident():
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(method, blobs, folder, rounds, leak=0):
    """How much more memory a cell takes in the last tenth of its rounds than after the first 500, as a share.

    The child leaks so many bytes a round, which is how the check is checked.
    """
    store = tiny.begin(blobs, folder / "run", methods=(method,), rounds=rounds)
    asked, notes, lost = config.load(store.experiment), folder / "notes.json", []

    def work():
        seen, tell = [], cell._tell

        def told(place, t, accuracy):
            tell(place, t, accuracy)
            lost.append(np.ones(leak, np.uint8))
            if t % 50 == 0:
                seen.append(resident())

        cell._tell = told
        outcome = cell.run(store.folder, asked, store.outline.cells[0], cell.Settings())
        notes.write_text(json.dumps({"state": outcome.state, "seen": seen}))

    assert tiny.in_child(work) == 0
    found = json.loads(notes.read_text())
    assert found["state"] == "done"
    seen = np.array(found["seen"], dtype=float)
    return float(np.median(seen[-max(2, len(seen) // 10) :]) / seen[WARM // 50 - 1 : WARM // 50 + 1].max() - 1)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("method", METHODS)
def test_a_run_does_not_grow(method, blobs, tmp_path):
    grown = growth(method, blobs, tmp_path, ROUNDS)
    print(f"{method}: {grown:+.2%} after {ROUNDS:,} rounds")
    assert grown <= ALLOWED


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_a_leak_is_caught(blobs, tmp_path):
    assert growth("uniform", blobs, tmp_path, 1000, leak=50_000) > ALLOWED
