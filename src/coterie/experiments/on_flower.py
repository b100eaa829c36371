"""An experiment on Flower: the same data, splits, first model and dice, trained by Flower's own simulation."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.data import Partition
from coterie.experiments.experiment import Experiment
from coterie.experiments.problems import BadInputError, Problem
from coterie.simulation import Simulation, World
from coterie.simulation.work import Alone

if TYPE_CHECKING:
    from coterie.federation import Scores
    from coterie.flower.federation import FlowerFederation
    from coterie.flower.holding import Holding

ENGINE = "flower"
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
    """Starts Flower's simulation and the federation in it; `close` ends both."""
    from coterie.flower.client import client_app
    from coterie.flower.federation import FlowerFederation
    from coterie.flower.hosting import Hosted

    local = _simulation(experiment, partition, seed)
    app = client_app(Held(replace(experiment, entries=()), partition.resolve(), seed))
    hosted = Hosted(app, len(local.clients), workers or len(os.sched_getaffinity(0)))
    try:
        return FlowerFederation(
            hosted.grid,
            local.layout,
            local.models[0],
            clients=len(local.clients),
            seed=seed,
            evaluate_every=experiment.evaluate_every,
            judge=Judge(local),
            columns={name: column for name, column in local.roster.columns.items() if name != "size"},
            closing=hosted.close,
        )
    except BaseException:
        hosted.close()
        raise


@dataclass(frozen=True)
class Judge:
    """Judges as the simulation does, on the global test set and the clients' own."""

    local: Simulation

    def __call__(self, federation: FlowerFederation) -> Scores | None:
        from coterie.simulation.evaluation import evaluate

        local = self.local
        others = {"trained": federation.trained} if federation.trained else {}
        return evaluate(
            local.crew,
            local.clients,
            federation.models,
            federation.follows,
            others,
            usual=local.usual_loss,
            round=federation.round,
            tuned=local.tuned,
        )


@dataclass(frozen=True)
class Held:
    """What a node holds, by its number; light, since it travels to every worker with every message."""

    experiment: Experiment
    partition: Path
    seed: int

    def __call__(self, context: Any) -> Holding:
        from coterie.flower.holding import Holding

        name = (self.partition, self.seed)
        if name not in _made:
            _made.clear()
            _made[name] = _simulation(self.experiment, self.partition, self.seed)
        local = _made[name]
        assert isinstance(local.crew, Alone)  # it was built with one worker
        return Holding(local.crew.path, local.clients, int(context.node_config["partition-id"]), self.seed)


_made: dict[tuple[Path, int], Simulation] = {}
"""The last that this process made: a worker serves one federation at a time."""


def _simulation(experiment: Experiment, partition: Path, seed: int) -> Simulation:
    from coterie.experiments import federations

    dataset = federations.load(experiment, seed)
    parted: Partition = federations.partition_of(partition, dataset)
    return federations.build(experiment, dataset, parted, seed, workers=1)


def _differs(world: World, name: str) -> bool:
    return bool(getattr(world, name) != getattr(World(), name))
