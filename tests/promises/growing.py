"""Plays a run's only cell and notes its memory every 50 rounds: `python -m tests.promises.growing FOLDER LEAK`.

A process of its own, so that what it takes is the run's and not what its parent held. It leaks so many bytes a round, which
is how the check is checked. It writes often, so that what writing loads is there before the first 500 rounds are over.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np

from coterie.experiments import cell, config
from coterie.experiments.store import Store


def resident():
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(folder, leak):
    store, seen, lost, tell = Store.open(folder), [], [], cell._tell

    def told(place, t, accuracy):
        tell(place, t, accuracy)
        lost.append(np.ones(leak, np.uint8))
        if t % 50 == 0:
            seen.append(resident())

    cell._tell = told
    outcome = cell.run(folder, config.load(store.experiment), store.outline.cells[0], cell.Settings(every=0.2))
    (folder.parent / "notes.json").write_text(json.dumps({"state": outcome.state, "seen": seen}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
