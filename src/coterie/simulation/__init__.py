"""The simulation: a federation in one process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from coterie.data import Dataset, Partition, Scheme, load, split_clients
from coterie.data.splits import Judged
from coterie.federation import Steps
from coterie.simulation import dice
from coterie.simulation.clients import Clients
from coterie.simulation.engine import Simulation
from coterie.simulation.world import World

if TYPE_CHECKING:
    from coterie.simulation.general import Loss
    from coterie.simulation.models import Model

__all__ = ["Simulation", "World", "simulate"]


def simulate(
    dataset: str | Dataset,
    *,
    partition: Scheme | Partition | str | os.PathLike[str],
    clients: int = 100,
    seed: int = 0,
    model: Model = "mlp",
    loss: Loss | None = None,
    holdout: float = 0.2,
    test: Judged = "auto",
    client_test_size: int = 200,
    test_fraction: float = 0.2,
    world: World = World(),
    workers: int | None = None,
    device: str = "cpu",
    evaluate_every: int = 1,
    tuned: Steps | None = None,
    tune_shared: bool = True,
    remember: bool = True,
    data_dir: str | None = None,
) -> Simulation:
    """Makes a federation of simulated clients.

    Args:
        dataset: A dataset, or the name of one.
        partition: Who holds which samples: a scheme, a partition, or the path of a partition file.
        clients: How many clients a scheme makes; a partition brings its own number.
        seed: Everything random comes from it: partition, splits, initial model, shuffles, dropout, the world.
        model: An architecture's name, a function that makes a module, or a module.
        loss: One loss a sample from outputs and targets; cross-entropy, or squared error for regression, if None.
        holdout: Share of a client's samples that it holds out to answer questions on.
        test: Where a client's own test samples come from; see `coterie.data.split_clients`.
        client_test_size: How many test samples a client has at most where they are drawn from the global test set.
        test_fraction: Share of a client's samples that is cut for its test where they come from its own.
        world: Who is there, how fast, who fails.
        workers: How many processes work; None for one a core. Results do not depend on it.
        device: Where modules run: "cpu", or for instance "cuda".
        evaluate_every: Models are judged every so many rounds.
        tuned: Also judges the model that each client follows after such local steps ("accuracy_tuned").
        tune_shared: Whether also models that clients share are judged so, not only those that are a client's own.
        remember: Whether clients hold on to the last model they trained, so that `ask.models` can be answered.
        data_dir: Where data files lie.
    """
    from coterie.simulation.models import path_for  # these bring torch, which a world alone can do without
    from coterie.simulation.pool import hire

    _check(seed, world, client_test_size=client_test_size, evaluate_every=evaluate_every)
    data = load(dataset, data_dir, clients=clients, seed=seed) if isinstance(dataset, str) else dataset
    parted = _parted(partition, data, clients, seed)
    splits = split_clients(
        data, parted, holdout=holdout, test=test, test_size=client_test_size, test_fraction=test_fraction, seed=seed
    )
    homes = Clients.of(data, splits, seed)
    path = path_for(
        model, data.shape, data.classes, targets=1 if data.y.ndim == 1 else data.y.shape[1], loss=loss, device=device
    )
    return Simulation(
        homes,
        hire(path, homes, workers, device),
        path.layout,
        path.initial(dice.initial(seed)),
        world=world,
        evaluate_every=evaluate_every,
        tuned=tuned,
        tune_shared=tune_shared,
        remember=remember,
        usual_loss=loss is None,
    )


def _check(seed: int, world: World, **counts: int) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise ValueError(f"seed: must be a whole number, not {seed!r}")
    if not isinstance(world, World):
        raise ValueError(f"world: must be a World, not {world!r}")
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name}: must be a whole number from 1, not {value!r}")


def _parted(partition: Scheme | Partition | str | os.PathLike[str], dataset: Dataset, clients: int, seed: int) -> Partition:
    if isinstance(partition, Scheme):
        return partition.split(dataset, clients, seed)
    if isinstance(partition, Partition):
        parted = partition
    elif isinstance(partition, str | os.PathLike):
        parted = Partition.load(partition)
    else:
        raise ValueError(f"partition: must be a scheme, a partition or the path of a partition file, not {partition!r}")
    parted.check(dataset)
    return parted
