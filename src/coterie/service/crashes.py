"""Named places at which a test can have the process killed, to see that no half of anything is left behind.

Setting COTERIE_CRASH_AT to a name kills the process as `kill -9` does when it comes by there; `name:3` the third time.
"""

from __future__ import annotations

import os
import signal
from collections import Counter

WHERE = os.environ.get("COTERIE_CRASH_AT", "")
LANE = ("lane/began", "lane/log written", "lane/before commit", "lane/committed", "lane/answered")
"""Around a transaction; beside these there is `TABLE/before` and `TABLE/after` for each table that is written."""

_seen: Counter[str] = Counter()


def passing(name: str) -> None:
    """Kills the process if this is the place."""
    if not WHERE:
        return
    _seen[name] += 1
    place, _, turn = WHERE.partition(":")
    if name == place and _seen[name] == int(turn or 1):
        os.kill(os.getpid(), signal.SIGKILL)
