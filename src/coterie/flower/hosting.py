"""Flower's own simulation as a place where a federation lives: it runs beside us until we are done with it."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Callable
from queue import Queue
from typing import Any

from flwr.client import ClientApp
from flwr.server import Grid, ServerApp

START = 120.0
"""Seconds that it may take to begin."""


class Hosted:
    """A grid of Flower's simulation. `close` ends it.

    Flower's simulation calls a server; here the server only hands out its grid and waits. Each of the workers is a
    process of Ray; all nodes share them.
    """

    def __init__(self, app: ClientApp, nodes: int, workers: int) -> None:
        if workers < 1:
            raise ValueError(f"workers: must be a whole number from 1, not {workers!r}")
        self._came: Queue[Grid | BaseException] = Queue()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(app, nodes, workers), daemon=True)
        self._thread.start()
        grid = self._came.get(timeout=START)
        if isinstance(grid, BaseException):
            raise RuntimeError(f"flower: its simulation does not begin: {grid}") from grid
        self.grid = grid

    @property
    def alive(self) -> bool:
        """Whether it still goes on."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Ends the simulation, and Ray with it."""
        self._done.set()
        self._thread.join(timeout=60.0)

    def _main(self, grid: Grid, context: Any) -> None:
        self._came.put(grid)
        self._done.wait()

    def _run(self, app: ClientApp, nodes: int, workers: int) -> None:
        try:
            server = ServerApp()
            server.main()(self._main)
            resources = {
                "init_args": {
                    "num_cpus": workers,
                    "num_gpus": 0,
                    "log_to_driver": False,
                    "logging_level": logging.ERROR,
                    "include_dashboard": False,
                },
                "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            }
            _simulate()(server_app=server, client_app=app, num_supernodes=nodes, backend_config=resources)
        except BaseException as error:  # it must not be lost with the thread
            self._came.put(error)
        finally:
            _shut_down()


def _simulate() -> Callable[..., None]:
    """Flower's simulation from Python, quietly."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    logging.getLogger("flwr").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from flwr.simulation import run_simulation

    simulate: Callable[..., None] = run_simulation
    return simulate


def _shut_down() -> None:
    """Ray outlives the simulation otherwise."""
    try:
        import ray  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return
    ray.shutdown()
