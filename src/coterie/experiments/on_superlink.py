"""Has a running SuperLink play a run: writes an app of Flower into the run's folder and sends it there by `flwr run`.

The app's server writes into the same folder, so the SuperLink has to be on this machine, or see the folder under the same
path. Its nodes may be anywhere: they are told the experiment, and take the data from where they are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from coterie.experiments import cell, grid
from coterie.experiments.cell import Outcome
from coterie.experiments.locks import held
from coterie.experiments.on_flower import QUIET
from coterie.experiments.problems import BadInputError, Problem
from coterie.experiments.store import Store

APP = {
    "pyproject.toml": """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "coterie-run"
version = "1.0.0"
description = "A run of Coterie"
license = "Apache-2.0"
dependencies = []

[tool.flwr.app]
publisher = "coterie"

[tool.flwr.app.components]
serverapp = "coterie_run.server_app:app"
clientapp = "coterie_run.client_app:app"

[tool.flwr.app.config]
folder = {folder}
every = {every}
""",
    "coterie_run/__init__.py": '"""A run of Coterie."""\n',
    "coterie_run/server_app.py": '"""The server."""\n\nfrom coterie.experiments.flower_app import server as app\n',
    "coterie_run/client_app.py": '"""A client."""\n\nfrom coterie.experiments.flower_app import client as app\n',
}
"""The files of the app."""


def play(store: Store, superlink: str, *, clients: int, every: float = cell.Settings.every) -> Iterator[Outcome]:
    """Plays what is left of the cells on a SuperLink that Flower's configuration names; yields what became of each."""
    program = Path(sys.executable).parent / "flwr"
    if not program.exists():
        raise BadInputError([Problem("--superlink", "there is no program 'flwr' here: pip install 'coterie[flower]'")])
    app = write(store.folder / "app", store.folder.resolve(), every)
    command = [str(program), "run", str(app), superlink, "--stream", "--federation-config", f"num-supernodes={clients}"]
    cells = grid.unfinished(store)
    store.stop.unlink(missing_ok=True)
    path = os.pathsep.join([str(program.parent), os.environ.get("PATH", "")])
    log = store.folder / "flower.log"
    with held(store.folder / "lock"), grid.interruptible(store), log.open("w") as file:
        environment = {**QUIET, **os.environ, "PATH": path}
        # a session of its own: Ctrl-C asks the run to stop, and must not cut its log off
        subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True, check=False
        )
    left = set(grid.unfinished(store))
    for one in cells:
        error = store.cell(one) / "error.txt"
        if one not in left:
            yield Outcome(one, "done")
        elif store.stop.exists():
            yield Outcome(one, "stopped")
        else:
            yield Outcome(one, "failed", _last_line(error if error.exists() else log))


def write(app: Path, folder: Path, every: float) -> Path:
    """Writes the app of a run."""
    (app / "coterie_run").mkdir(parents=True, exist_ok=True)
    for name, text in APP.items():
        filled = text.replace("{folder}", json.dumps(str(folder), ensure_ascii=False)).replace("{every}", repr(float(every)))
        (app / name).write_text(filled, encoding="utf-8")
    return app


def _last_line(file: Path) -> str:
    lines = [line.strip() for line in file.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return f"{lines[-1] if lines else 'Flower says nothing'} (all of it: {file})"
