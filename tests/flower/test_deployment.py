"""The guide `docs/how-to/flower-deployment.md`, word for word: SuperLink, TLS, node keys, four nodes, two of which die.

Also the examples as they stand, by `flwr run` on Flower's own simulation.

Takes minutes, most of them for starting Python: `make test-deployment`, not `make test`, runs it.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests import pages

pytest.importorskip("flwr", reason="needs the extra coterie[flower]")

from tests.flower.test_two_lines import PAGE as TWO_LINES
from tests.flower.test_two_lines import patch

pytestmark = pytest.mark.deployment

PAGE = pages.HOME / "docs" / "how-to" / "flower-deployment.md"
PATIENCE = 1200.0
"""Seconds for each step, on a machine that may have much else to do."""
REPORT = re.compile(r"^round (\d+): accuracy [\d.]+, used (.*); lost (.*)$", re.MULTILINE)

REFUSED = r"denied|rejected|not registered|unauthenticated|permission|failed to activate supernode"


def commands(section, text):
    """What a section of the guide has its reader type."""
    body = re.search(rf"^## {section}\. .*?$(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)[1]
    shown = "".join(block.body for block in pages.blocks(body) if block.language == "console")
    return re.sub(r"^\$ ", "", shown, flags=re.MULTILINE)


def free_ports(count):
    """The first of so many ports in a row that nobody uses."""
    for base in range(21000 + os.getpid() % 5000, 60000, 50):
        with suppress(OSError):
            for port in range(base, base + count):
                with socket.socket() as one:
                    one.bind(("127.0.0.1", port))
            return base
    raise OSError("no free ports")


class Terminal:
    """A shell in which somebody follows the guide. All that it starts ends with it."""

    def __init__(self, folder):
        self.folder = folder
        paths = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NO_COLOR": "1", "COTERIE_TEST": str(folder)}
        self.log = folder / "terminal.log"
        self.shell = subprocess.Popen(
            ["bash", "--norc"],
            cwd=folder,
            env={**os.environ, **paths},
            stdin=subprocess.PIPE,
            stdout=self.log.open("w"),
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.steps = 0

    def types(self, text, wait=True):
        """Types lines; fails if one of them does."""
        self.steps += 1
        done = self.folder / f"step-{self.steps}"
        self.shell.stdin.write(f"set -e\n{text}\n" + (f"touch {done}\n" if wait else ""))
        self.shell.stdin.flush()
        if wait:
            until(done.exists, f"this to end:\n{text}", self)

    def close(self):
        """Ends everything that has our mark in its environment, whatever session it moved to."""
        mark = f"COTERIE_TEST={self.folder}".encode()
        for _ in range(20):
            found = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
            ours = [pid for pid in found if pid != os.getpid() and marked(pid, mark)]
            for pid in ours:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not ours:
                break
            time.sleep(0.2)
        self.shell.wait(timeout=30)
        return ours


def marked(pid, mark):
    try:
        return mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def until(ready, what, terminal):
    """Waits; fails with all logs when it takes too long or the shell has ended."""
    ends = time.monotonic() + PATIENCE
    while not ready():
        if time.monotonic() > ends or terminal.shell.poll() is not None:
            logs = [terminal.log, *sorted((terminal.folder / "logs").glob("*.log"))]
            told = "\n".join(f"== {log.name}\n{log.read_text()[-3000:]}" for log in logs)
            pytest.fail(f"waited in vain for {what}\n{told}")
        time.sleep(0.3)


@pytest.fixture
def terminal(tmp_path):
    shutil.copytree(pages.HOME / "examples" / "flower", tmp_path / "app", ignore=shutil.ignore_patterns("__pycache__"))
    one = Terminal(tmp_path)
    yield one
    assert not one.close(), "processes that would not end"


def rounds(path):
    """What a run's log says of its rounds: number, who was used, and who was lost."""
    text = path.read_text() if path.exists() else ""
    return [(int(t), used.split(", "), lost) for t, used, lost in REPORT.findall(text)]


@pytest.mark.skipif(not shutil.which("openssl") or not shutil.which("ssh-keygen"), reason="needs openssl and ssh-keygen")
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds its processes in /proc")
def test_the_guide_works_word_for_word(terminal):
    base, text = free_ports(6), PAGE.read_text()
    assert "8443" in text and "9440" in text
    text = text.replace("8443", str(base)).replace("9440", str(base + 1))
    assert "deadline=120.0" in text
    text = text.replace("deadline=120.0", "deadline=900.0 arrival=900.0")  # nobody is to be late here, however busy the machine
    for section in range(1, 7):
        terminal.types(commands(section, text))
    terminal.types(commands(7, text).replace("--stream", "--stream > logs/run.log 2>&1"))
    played = rounds(terminal.folder / "logs" / "run.log")
    assert [t for t, _, _ in played] == [1, 2, 3], (terminal.folder / "logs" / "run.log").read_text()[-2000:]
    assert all(lost == "nobody" for _, _, lost in played), played

    long = "clients=4 rounds=200 deadline=240.0 arrival=900.0 method='uniform' share=1.0"
    terminal.types(f'flwr run app --stream --run-config "{long}" > logs/long.log 2>&1 &', wait=False)
    log = terminal.folder / "logs" / "long.log"
    until(lambda: len(rounds(log)) >= 1, "the first round with four nodes", terminal)
    assert rounds(log)[0][1] == ["0", "1", "2", "3"]
    terminal.types(commands(8, text).rsplit("node 1", 1)[0])
    until(lambda: any("'1'" in lost and "'2'" in lost for _, _, lost in rounds(log)), "a round that loses two nodes", terminal)
    until(lambda: rounds(log)[-1][1:] == (["0", "3"], "nobody"), "a round in which nobody asks the dead", terminal)
    terminal.types("node 1")
    until(lambda: rounds(log)[-1][1] == ["0", "1", "3"], "a round with the one that came back", terminal)
    seen = [used for _, used, _ in rounds(log)]
    assert all({"0", "3"} <= set(used) for used in seen), seen

    terminal.types("ssh-keygen -q -t ecdsa -b 384 -N '' -f keys/node-4\nnode 4")
    until(lambda: refused(terminal.folder / "logs" / "node-4.log"), "a node without a registered key to be refused", terminal)
    terminal.types(commands(9, text))


def refused(log):
    return log.exists() and re.search(REFUSED, log.read_text(), re.IGNORECASE)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds its processes in /proc")
def test_the_examples_run_by_flwr_run_as_they_stand(terminal):
    """On the simulation that `flwr run` starts by itself: the ready project, and the app of the two lines before and after."""
    for name in ("flower", "flower-fedavg"):
        shutil.copytree(pages.HOME / "examples" / name, terminal.folder / "examples" / name)
    terminal.types("export FLWR_HOME=$PWD/flwr FLWR_TELEMETRY_ENABLED=0 FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION=1")
    terminal.types("mkdir -p flwr logs")
    text = TWO_LINES.read_text()
    (command,) = re.findall(r"`(flwr run examples/flower-fedavg [^`]+)`", text)
    run, log = partial(_streamed, terminal), terminal.folder / "logs"
    run('flwr run examples/flower --federation-config "num-supernodes=4"', "ready.log")
    assert [t for t, _, _ in rounds(log / "ready.log")] == [1, 2, 3, 4, 5]
    run(command, "before.log")
    (diff,) = [block.body for block in pages.blocks(text) if block.language == "diff"]
    patch(diff, terminal.folder / "examples" / "flower-fedavg")
    run(command, "after.log")
    before, after = (
        re.findall(r"^round (\d): accuracy [\d.]+$", (log / f"{one}.log").read_text(), re.M) for one in ("before", "after")
    )
    assert before == after == list("012345")
    said = (log / "after.log").read_text()
    assert "Starting CoterieStrategy strategy" in said and said.count("Sampled 3 nodes (out of 3)") == 5


def _streamed(terminal, command, log):
    terminal.types(f"{command} --stream > logs/{log} 2>&1")
