"""How much of its machine a client gives to a training, read from the machine itself."""

from __future__ import annotations

import os
from collections.abc import Iterable
from time import monotonic, process_time

from coterie.plan import USE

try:
    import psutil
except ImportError:  # it is an extra
    psutil = None

UNKNOWN = -1.0


class Gauge:
    """Reads CPU, memory and network from its making on; see `use`.

    >>> gauge = Gauge()
    >>> all(-1 <= share <= 1 for share in gauge.use(["use_cpu", "use_ram"]).values())
    True
    """

    def __init__(self) -> None:
        self.began, self.worked, self.crossed = monotonic(), process_time(), _crossed()

    def use(self, wanted: Iterable[str]) -> dict[str, float]:
        """The shares since then that are wanted, in [0, 1]; −1 for what cannot be read here.

        CPU time of this process over the time that all cores had, its memory over the machine's, and what crossed the
        machine's network over what its links could carry.
        """
        passed = max(monotonic() - self.began, 1e-9)
        read = {
            "use_cpu": (process_time() - self.worked) / (passed * (os.cpu_count() or 1)),
            "use_ram": UNKNOWN if psutil is None else psutil.Process().memory_info().rss / psutil.virtual_memory().total,
            "use_bandwidth": _share(_crossed() - self.crossed, passed * _carried()),
        }
        assert read.keys() == set(USE)
        return {name: min(read[name], 1.0) for name in sorted(wanted)}


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else UNKNOWN


def _crossed() -> float:
    """Bytes that the machine has sent and received."""
    counted = None if psutil is None else psutil.net_io_counters()
    return 0.0 if counted is None else float(counted.bytes_sent + counted.bytes_recv)


def _carried() -> float:
    """Bytes a second that the machine's links say that they carry; 0 where they do not say."""
    links = {} if psutil is None else psutil.net_if_stats()
    return float(sum(max(link.speed, 0) for link in links.values() if link.isup)) * 1e6 / 8
