import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie.catalog import fedavg
from coterie.recipe import play
from coterie.simulation import pool, worker
from coterie.simulation.pool import Pool, Single, hire
from coterie.simulation.shelf import Shelf
from coterie.simulation.work import Task
from tests.simulation.small import small


@dataclass(frozen=True, eq=False)
class Double(Task[np.ndarray]):
    values: np.ndarray

    def run(self, path: Any, clients: Any) -> np.ndarray:
        return 2 * self.values


@dataclass(frozen=True)
class WhoAmI(Task[int]):
    def run(self, path: Any, clients: Any) -> int:
        time.sleep(0.02)
        return os.getpid()


@dataclass(frozen=True)
class Fails(Task[int]):
    number: int

    def run(self, path: Any, clients: Any) -> int:
        if self.number >= 2:
            raise ValueError(f"task {self.number} cannot be done")
        return self.number


@dataclass(frozen=True)
class Dies(Task[int]):
    def run(self, path: Any, clients: Any) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return 0


@dataclass(frozen=True, eq=False)
class Scribbles(Task[int]):
    values: np.ndarray

    def run(self, path: Any, clients: Any) -> int:
        self.values[0] = 1
        return 0


@pytest.fixture
def workers():
    workers = Pool(None, None, 2)
    yield workers
    workers.close()


def who(workers: Pool) -> set[int]:
    """Everybody who works: whoever is slow to wake on a busy machine is waited for."""
    seen, deadline = set(workers.run([WhoAmI()] * 8)), time.monotonic() + 60
    while len(seen) < workers.workers and time.monotonic() < deadline:
        seen |= set(workers.run([WhoAmI()] * 8))
    return seen


def test_results_come_in_the_order_of_the_tasks(workers):
    results = workers.run([Double(np.full(3, k)) for k in range(100)])
    assert [result.tolist() for result in results] == [[2 * k] * 3 for k in range(100)]


def test_results_are_ones_own_to_write_to(workers):
    first = workers.run([Double(np.ones(1000))])[0]
    first += 1
    workers.run([Double(np.zeros(1000))])
    assert (first == 3).all()


def test_all_workers_work_and_stay(workers):
    first, later = who(workers), who(workers)
    assert len(first) == 2 and first == later and os.getpid() not in first


def test_many_large_tasks_go_in_waves(workers, monkeypatch):
    monkeypatch.setattr(pool, "ROOM", 10_000)
    monkeypatch.setattr(pool, "MOST", 7)
    values = np.random.default_rng(0).normal(size=(40, 300))
    np.testing.assert_array_equal(workers.run([Double(row) for row in values]), 2 * values)
    assert os.fstat(workers.office.inbox.file).st_size < 30_000


def test_large_results_leave_in_parts(monkeypatch):
    monkeypatch.setattr(worker, "ROOM", 10_000)
    workers, values = Pool(None, None, 2), np.random.default_rng(0).normal(size=300)
    for result in workers.run([Double(values)] * 60):
        np.testing.assert_array_equal(result, 2 * values)
    assert all(os.fstat(outbox.file).st_size < 30_000 for outbox in workers.office.outboxes)
    workers.close()


def test_no_tasks_are_no_work(workers):
    assert workers.run([]) == [] and workers.office is None


def test_first_failure_is_raised_and_the_pool_goes_on(workers):
    with pytest.raises(ValueError, match="task 2 cannot be done") as caught:
        workers.run([Fails(k) for k in range(6)])
    assert "in run" in caught.value.__notes__[0]
    assert workers.run([Fails(1)]) == [1]


def test_tasks_cannot_write_into_what_they_share(workers):
    with pytest.raises(ValueError, match="read-only"):
        workers.run([Scribbles(np.zeros(4))])


def test_a_process_forked_later_leaves_the_workers_alone(workers):
    before = who(workers)
    child = os.fork()
    if child == 0:
        workers.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert who(workers) == before


def test_dead_worker_is_told_of_and_replaced(workers):
    with pytest.raises(RuntimeError, match=r"a worker ended .* -9"):
        workers.run([Dies(), Double(np.ones(1))])
    assert workers.run([Fails(1)]) == [1]


def test_what_cannot_be_sent_is_told_of(workers):
    @dataclass(frozen=True)
    class Local(Task[int]):
        def run(self, path: Any, clients: Any) -> int:
            return 0

    with pytest.raises((AttributeError, TypeError), match="Local"):
        workers.run([Local()])


def test_class_written_after_the_workers_began_is_known(workers, tmp_path, monkeypatch):
    workers.run([WhoAmI()])
    (tmp_path / "written_later.py").write_text(
        "from coterie.simulation.work import Task\nclass Later(Task):\n    def run(self, path, clients):\n        return 7\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    later = __import__("written_later")
    assert workers.run([later.Later()]) == [7]


@pytest.mark.parametrize("model", ["mlp:6", "mlp:6:dropout=0.5"])
def test_number_of_workers_is_not_visible(model):
    ends = []
    for count in (1, 2, 3):
        simulation = small(model=model, workers=count)
        records = list(play(fedavg(per_round=5), simulation, 3))
        ends.append((simulation.models.tobytes(), [record.accuracy for record in records], records[-1].facts["loss"].tobytes()))
        simulation.close()
    assert ends[0] == ends[1] == ends[2]


def test_number_of_workers_defaults_to_the_cores():
    cores = len(os.sched_getaffinity(0))
    crew = hire(None, None)
    assert isinstance(crew, Single) if cores == 1 else crew.workers == cores
    assert isinstance(hire(None, None, 1), Single)
    assert isinstance(hire(None, None, 2, device="cuda"), Single)
    with pytest.raises(ValueError, match="workers: must be a whole number from 1"):
        hire(None, None, 0)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_worker_outlives_its_parent(how):
    code = (
        "import signal\n"
        "from tests.simulation.test_pool import Sleeps, who\n"
        "from coterie.simulation.pool import Pool\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background inherit that it is ignored\n"
        "pool = Pool(None, None, 2)\n"
        "print(*who(pool), flush=True)\n"
        "pool.run([Sleeps()] * 2)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    workers = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(workers) == 2 and all(map(alive, workers))
    time.sleep(0.1)
    parent.send_signal(how)
    assert parent.wait(timeout=60) != 0
    deadline = time.monotonic() + 30
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(alive, workers))


@dataclass(frozen=True)
class Sleeps(Task[int]):
    def run(self, path: Any, clients: Any) -> int:
        time.sleep(60)
        return 0


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_shelf_lays_what_several_share_once():
    shelf, model = Shelf(), np.ones(1000, np.float32)
    parcels = shelf.lay([(k, model, model[:10]) for k in range(50)])
    assert shelf.used < 4200
    number, whole, part = shelf.take(parcels[49], copy=False)
    assert number == 49 and (whole == 1).all() and len(part) == 10 and not whole.flags.writeable
    shelf.close()


def test_shelf_takes_odd_arrays():
    shelf = Shelf()
    odd = [np.empty((0, 3)), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(10)[::2], np.float32(3), None]
    taken = shelf.take(shelf.lay([odd])[0], copy=True)
    for one, other in zip(odd[:4], taken, strict=False):
        np.testing.assert_array_equal(one, other)
    shelf.close()
