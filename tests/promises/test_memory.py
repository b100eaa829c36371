"""A long run does not grow: memory after the first 500 rounds and at the end, in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests import pages
from tests.experiments import tiny
from tests.promises.how_many import many

ROUNDS = many(1000, 10_000)
WARM = 500
ALLOWED = 0.02
METHODS = many(("oort",), ("uniform", "oort", "gossip", "cluster-fl", "fedadam"))


@pytest.fixture(scope="module")
def blobs(tmp_path_factory):
    return tiny.dataset(tmp_path_factory.mktemp("data"))


def growth(method, blobs, folder, rounds, leak=0):
    """How much more memory a cell takes in the last tenth of its rounds than after the first 500, as a share."""
    store = tiny.begin(blobs, folder / "run", methods=(method,), rounds=rounds)
    call = [sys.executable, "-m", "tests.promises.growing", str(store.folder), str(leak)]
    subprocess.run(call, cwd=pages.HOME, check=True, capture_output=True)
    found = json.loads((folder / "notes.json").read_text())
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
