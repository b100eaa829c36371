"""The market's service under load: durable bids a second, an auction of 10,000, a settlement of 1,000, a start after a kill.

    python -m benchmarks.market_service
    python -m benchmarks.market_service --on sqlite --seconds 20 --json -

The service is `coterie market serve` in a process of its own; bidders are connections of another process on the same machine.
Beside seconds of the clock stand seconds of processors, which other work on the machine does not lengthen much.
A bid counts when it is acknowledged, which is when it is on disk. PostgreSQL is started from its binaries, with fsync on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np

from coterie.service import auctioning, books, lifecycle, parties
from coterie.service.lifecycle import SERVICE
from coterie.service.migrations import migrate
from coterie.service.parties import Rules
from coterie.service.store import Store, Write
from coterie.service.tables import bids, profiles
from coterie.service.terms import Terms
from tests.service.postgres import Missing, new_database, started

GROUND, PORT = "load", 8731


class Market:
    """A market of many clients, made without the service."""

    def __init__(self, url: str, clients: int) -> None:
        self.store = Store(url)
        migrate(self.store)
        self.network, self.key = self.store.write(0, parties.found, Rules(), "Network")
        self.owner = self.do(self.network, parties.admit, "Owner", "owner")[0]
        self.do(self.network, parties.lay_ground, GROUND, {"classes": 2})
        self.do(self.network, books.pay_in, self.owner.id, 10**11, "start")
        self.clients = self.store.write(0, self.admitted, clients)

    def do(self, who: Any, action: Callable[..., Any], *given: Any) -> Any:
        return self.store.write(who.id, action, who, *given)

    def admitted(self, write: Write, clients: int) -> list[tuple[int, str, int]]:
        """Clients with a key and 60 samples of either class."""
        made = []
        for number in range(clients):
            party, key = parties.admit(write, self.network, f"client-{number}", "client")
            held = {"ground": GROUND, "member": str(number), "counts": "[60, 60]", "reason": "counted", "party": party.id}
            made.append((party.id, key, write.add(profiles, held, "data")))
        return made

    def open(self, quota: int) -> int:
        terms = Terms(
            title="Load",
            ground=GROUND,
            quotas=[quota, 0],
            reserve_price=1000,
            cap=10**9,
            places=100_000,
            rounds=1,
            partial=True,
        )
        task = self.do(self.owner, lifecycle.publish, terms)
        self.do(self.owner, lifecycle.open_for_bids, task)
        return int(task)

    def filled(self, task: int) -> None:
        """Everybody bids, in one write."""
        prices = np.random.default_rng(task).integers(100, 1001, len(self.clients)).tolist()

        def all_bid(write: Write) -> None:
            for place, ((party, _, _), price) in enumerate(zip(self.clients, prices, strict=True), start=1):
                write.add(bids, {"task": task, "party": party, "price": price, "place": place}, "a bid")

        self.store.write(0, all_bid)
        self.do(self.owner, lifecycle.close, task)


@contextmanager
def served(url: str) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    """`coterie market serve`, and the seconds until it said that it is ready."""
    command = [str(Path(sys.executable).with_name("coterie")), "market", "serve", "--by-hand", "--db", url, "--port", str(PORT)]
    began = perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health", timeout=5) as answer:
                    assert answer.status == 200
                    break
            except OSError:
                if process.poll() is not None or perf_counter() - began > 120:
                    raise RuntimeError("the service does not start") from None
                sleep(0.01)
        yield process, perf_counter() - began
    finally:
        process.kill()
        process.wait()


async def bidder(task: int, keys_: list[str], until: float, seen: list[tuple[float, int]]) -> None:
    """One connection that bids for one client after another until the time is over."""
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    turn = 0
    while (began := perf_counter()) < until:
        body = json.dumps({"price": 100 + turn % 900}).encode()
        key = keys_[turn % len(keys_)]
        turn += 1
        head = f"PUT /api/tasks/{task}/bid HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {key}\r\n"
        writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        try:
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
        except (OSError, asyncio.IncompleteReadError):
            return  # killed, as the last part of this wants it
        seen.append((perf_counter() - began, int(answer.split(b" ", 2)[1])))


async def load(task: int, keys_: list[str], connections: int, seconds: float) -> list[tuple[float, int]]:
    seen: list[tuple[float, int]] = []
    until = perf_counter() + seconds
    await asyncio.gather(*(bidder(task, keys_[i::connections], until, seen) for i in range(connections)))
    return seen


def cpu_of(process: int) -> float:
    """Seconds of processors that a process has used (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed(does: Callable[[], Any]) -> dict[str, float]:
    began, worked = perf_counter(), process_time()
    does()
    return {"seconds": round(perf_counter() - began, 3), "cpu_seconds": round(process_time() - worked, 3)}


def measure(url: str, seconds: float, connections: int) -> dict[str, Any]:
    market = Market(url, 10_000)
    task = market.open(quota=60_000)
    given = [key for _, key, _ in market.clients[:2000]]
    market.store.close()
    with served(url) as (process, cold):
        asyncio.run(load(task, given, connections, 2.0))
        began, spent = perf_counter(), cpu_of(process.pid)
        seen = asyncio.run(load(task, given, connections, seconds))
        took, spent = perf_counter() - began, cpu_of(process.pid) - spent
        process.send_signal(signal.SIGKILL)
        process.wait()
    with served(url) as (_, again):
        pass
    times = 1000 * np.array([one for one, _ in seen])
    quantiles = {name: round(float(np.quantile(times, at)), 1) for name, at in (("p50", 0.5), ("p95", 0.95), ("max", 1.0))}
    filled = market.open(quota=60_000)
    market.filled(filled)
    cleared = timed(lambda: market.do(market.network, auctioning.auction, filled))
    with market.store.read() as connection:
        winners = [row["party"] for row in auctioning.cohort(connection, filled)]
    market.do(market.network, lifecycle.begin_training, filled)
    row = {"round": 1, "asked": 1, "answered": 1, "used": 1, "accuracy": 0.5, "loss": 1.0}
    market.store.write(0, lifecycle.round_over, filled, row, dict.fromkeys(winners, ("honest", "it trained")))
    settled = timed(lambda: market.store.write(0, lifecycle.settle, SERVICE, filled))
    market.store.close()
    return {
        "bids": len(seen),
        "refused": sum(status != 200 for _, status in seen),
        "server_errors": sum(status >= 500 for _, status in seen),
        "bids_per_second": round(len(seen) / took, 1),
        "milliseconds": quantiles,
        "server_cpu_milliseconds_per_bid": round(1000 * spent / max(len(seen), 1), 2),
        "auction": {"bids": len(market.clients), **cleared},
        "settlement": {"winners": len(winners), **settled},
        "ready_seconds": {"first": round(cold, 2), "after_kill": round(again, 2)},
        "load_average": os.getloadavg()[0],
    }


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--on", choices=["sqlite", "postgresql", "both"], default="both")
    asked.add_argument("--seconds", type=float, default=10.0)
    asked.add_argument("--connections", type=int, default=24)
    asked.add_argument("--folder", help="where the SQLite file is made; a temporary folder if not given")
    asked.add_argument("--json", metavar="FILE", help="write the numbers there; - for the screen")
    wanted = asked.parse_args()
    found: dict[str, Any] = {}
    with ExitStack() as stack:
        if wanted.on != "postgresql":
            folder = stack.enter_context(tempfile.TemporaryDirectory(dir=wanted.folder))
            found["sqlite"] = measure(f"sqlite:///{folder}/market.db", wanted.seconds, wanted.connections)
        if wanted.on != "sqlite":
            try:
                server = stack.enter_context(started(durable=True))
                found["postgresql"] = measure(new_database(server, "load"), wanted.seconds, wanted.connections)
            except Missing as missing:
                found["postgresql"] = {"missing": str(missing)}
    text = json.dumps(found, indent=2)
    if wanted.json and wanted.json != "-":
        Path(wanted.json).write_text(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main()
