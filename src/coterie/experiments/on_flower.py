"""An experiment on Flower: the same data, splits, first model and dice, trained by Flower's own simulation."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.experiments import config
from coterie.experiments.experiment import Experiment
from coterie.experiments.problems import BadInputError, Problem
from coterie.simulation import Simulation, World
from coterie.simulation.work import Alone

if TYPE_CHECKING:
    from coterie.federation import Scores
    from coterie.flower.federation import FlowerFederation
    from coterie.flower.holding import Holding
    from coterie.flower.hosting import Hosted

ENGINE = "flower"
PATIENCE = 300.0
"""Seconds for the nodes of a simulation to come and to begin: its workers load PyTorch and the data first."""
QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
"""What Flower is told in the environment, where nothing else stands there: to send nothing home and install nothing."""
KNOWN = ("devices", "speed", "speed_spread", "bandwidth", "bandwidth_spread", "coupling", "strong", "strength", "table")
"""Settings of the world that say what is known of devices; everything else about it is real on Flower."""


def check(experiment: Experiment, where: Any) -> None:
    """Refuses what Flower cannot do."""
    problems = []
    if find_spec("flwr") is None:
        problems.append(Problem(where(("engine",)), "engine: 'flower' needs Flower: pip install 'coterie[flower]'"))
    changed = [one.name for one in fields(World) if one.name not in KNOWN and _differs(experiment.world, one.name)]
    for name in changed:
        what = f"world.{name}: is simulated; on Flower who is there and what goes wrong is real"
        problems.append(Problem(where(("world", name)), what))
    if problems:
        raise BadInputError(problems)


def build(experiment: Experiment, partition: Path, seed: int, workers: int | None) -> FlowerFederation:
    """A federation in Flower's simulation, which starts with the first and goes on for later ones until `leave`."""
    from coterie.flower.federation import FlowerFederation
    from coterie.flower.keepsakes import begin

    local = _simulation(experiment, partition, seed)
    grid = _grid(replace(experiment, entries=()), len(local.clients), workers or len(os.sched_getaffinity(0)))
    role = {"seed": seed, "partition": str(partition.resolve())}
    if grid is _lent.grid:  # its nodes may be on other machines
        role = {"seed": seed, "experiment": config.text(experiment)}
    begin(grid, grid.get_node_ids(), role, PATIENCE)
    return FlowerFederation(
        grid,
        local.layout,
        local.models[0],
        clients=len(local.clients),
        seed=seed,
        evaluate_every=experiment.evaluate_every,
        judge=Judge(local),
        columns={name: column for name, column in local.roster.columns.items() if name != "size"},
        portable=True,
    )


@contextmanager
def lent(grid: Any) -> Iterator[None]:
    """Federations that are built meanwhile use this grid, whose nodes run `Held()`, and start no simulation."""
    _lent.grid = grid
    try:
        yield
    finally:
        _lent.grid = None


def leave() -> None:
    """Ends Flower's simulation, if one goes on in this process."""
    while _hosts:
        _hosts.popitem()[1].close()


@dataclass
class Lent:
    """A grid that is somebody else's."""

    grid: Any = None


_lent = Lent()
_hosts: dict[tuple[Experiment, int, int], Hosted] = {}
"""The simulation that goes on in this process: starting one takes as long as many rounds."""


def _grid(experiment: Experiment, nodes: int, workers: int) -> Any:
    """The grid, when all nodes are on it: one that was lent, or that of the simulation."""
    grid = _hosted(experiment, nodes, workers) if _lent.grid is None else _lent.grid
    ends = time.monotonic() + PATIENCE
    while (there := len(list(grid.get_node_ids()))) < nodes:
        if time.monotonic() > ends:
            raise TimeoutError(f"flower: {there} of {nodes} nodes came within {PATIENCE:g} seconds")
        time.sleep(0.05)
    if there > nodes:
        raise ValueError(f"clients: there are {nodes} in the experiment and {there} nodes; it needs as many")
    return grid


def _hosted(experiment: Experiment, nodes: int, workers: int) -> Any:
    """The grid of a simulation of Flower that goes on in this process."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    from coterie.flower.client import client_app
    from coterie.flower.hosting import Hosted

    which = (experiment, nodes, workers)
    if which not in _hosts or not _hosts[which].alive:
        leave()
        _hosts[which] = Hosted(client_app(Held(experiment), portable=True), nodes, workers)
    return _hosts[which].grid


@dataclass(frozen=True)
class Judge:
    """Judges as the simulation does, on the global test set and the clients' own."""

    local: Simulation

    def __call__(self, federation: FlowerFederation) -> Scores | None:
        from coterie.simulation.evaluation import evaluate

        local = self.local
        beside = {"trained": federation.trained, "personal": federation.personal()}
        others = {name: models for name, models in beside.items() if models}
        return evaluate(
            local.crew,
            local.clients,
            federation.models,
            federation.follows,
            others,
            usual=local.usual_loss,
            round=federation.round,
            tuned=local.tuning(bool(federation.trained)),
        )


@dataclass(frozen=True)
class Held:
    """What a node holds, by its number and its role; light, since it travels to every worker with every message."""

    experiment: Experiment | None = None
    """If None the role says it, and which samples a client holds is drawn anew: nothing but the role has to travel."""

    def __call__(self, context: Any) -> Holding:
        from coterie.flower.holding import Holding
        from coterie.flower.keepsakes import ROLE

        role = context.state[ROLE]
        name = tuple(sorted(role.items()))
        if name not in _made:
            _made.clear()
            _made[name] = self._simulation(**role)
        local = _made[name]
        assert isinstance(local.crew, Alone)  # it was built with one worker
        return Holding(local.crew.path, local.clients, int(context.node_config["partition-id"]), role["seed"])

    def _simulation(self, seed: int, partition: str = "", experiment: str = "") -> Simulation:
        told = self.experiment or config.parse(experiment)[0]
        return _simulation(told, Path(partition) if partition else None, seed)


_made: dict[tuple[tuple[str, Any], ...], Simulation] = {}
"""The last that this process made: a worker serves one federation at a time."""


def _simulation(experiment: Experiment, partition: Path | None, seed: int) -> Simulation:
    from coterie.experiments import federations

    dataset = federations.load(experiment, seed)
    if partition is None:
        parted = experiment.partition.split(dataset, experiment.clients, seed)
    else:
        parted = federations.partition_of(partition, dataset)
    return federations.build(experiment, dataset, parted, seed, workers=1)


def _differs(world: World, name: str) -> bool:
    return bool(getattr(world, name) != getattr(World(), name))
