"""The federation of an experiment with a seed, the same for every method; and the checks before anything runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from coterie import data
from coterie.data import Dataset, Partition
from coterie.experiments import on_flower
from coterie.experiments.config import Where
from coterie.experiments.experiment import Experiment
from coterie.experiments.problems import BadInputError, Problem
from coterie.simulation import simulate

if TYPE_CHECKING:
    from coterie.simulation import Simulation


def build(experiment: Experiment, dataset: Dataset, partition: Partition, seed: int, workers: int | None = None) -> Simulation:
    """The federation in which every method plays this seed: same data, same splits, same first model, same world."""
    return simulate(
        dataset,
        partition=partition,
        clients=experiment.clients,
        seed=seed,
        model=experiment.model,
        holdout=experiment.holdout,
        test=experiment.test,
        client_test_size=experiment.client_test_size,
        world=experiment.world,
        workers=workers,
        device=experiment.device,
        evaluate_every=experiment.evaluate_every,
        tuned=None if experiment.fine_tuned == "never" else replace(experiment.training, epochs=1),
        tune_shared=experiment.fine_tuned == "always",
    )


def prepare(experiment: Experiment, where: Where = lambda path: "") -> tuple[Dataset, dict[int, Partition]]:
    """Loads the data of the first seed and parts them for all; raises `BadInputError` with all that would not work.

    The federation of the first seed is set up, and every method writes its first plan on it, so that what a method
    needs and this federation lacks is found here.
    """
    if experiment.engine == on_flower.ENGINE:
        on_flower.check(experiment, where)
    first = experiment.seeds[0]
    dataset = load(experiment, first, where)
    try:
        partitions = {first: experiment.partition.split(dataset, experiment.clients, first)}
        for seed in experiment.seeds[1:]:
            drawn = load(experiment, seed, where) if generated(experiment.dataset) else dataset
            partitions[seed] = experiment.partition.split(drawn, experiment.clients, seed)
    except (ValueError, OSError) as error:
        raise BadInputError([Problem(where(("partition",)), f"partition: {error}")]) from None
    try:
        federation = build(experiment, dataset, partitions[first], first, workers=1)
    except ValueError as error:
        raise BadInputError([Problem(where((str(error).partition(":")[0],)), str(error))]) from None
    try:
        problems = [one for label in experiment.labels if (one := _refused(experiment, label, federation, where))]
    finally:
        federation.close()
    if problems:
        raise BadInputError(problems)
    return dataset, partitions


def load(experiment: Experiment, seed: int, where: Where = lambda path: "") -> Dataset:
    """The data of an experiment; only generated data depend on the seed."""
    try:
        return data.load(experiment.dataset, experiment.data_dir, clients=experiment.clients, seed=seed)
    except (ValueError, OSError) as error:
        raise BadInputError([Problem(where(("dataset",)), str(error))]) from None


def generated(dataset: str) -> bool:
    """Whether a dataset is drawn anew for each seed."""
    return dataset.partition("(")[0] in data.sources.MADE


def partition_of(file: Path, dataset: Dataset) -> Partition:
    """The partition that a run has stored, checked against the data."""
    partition = Partition.load(file)
    partition.check(dataset)
    return partition


def _refused(experiment: Experiment, label: str, federation: Simulation, where: Where) -> Problem | None:
    recipe = experiment.recipe(label)
    needed = {column for rule in recipe.rules.values() for column in rule.needs}
    known = {*federation.roster.columns, *(["labels"] if federation.clients.classes else [])}
    if needed - known:
        what = f"{label}: needs {', '.join(sorted(needed - known))} of each client; there are {', '.join(sorted(known))}"
        return Problem(where(("set", label)) or where(("methods",)), what)
    try:
        recipe.plan(federation.view(1), recipe.begin(federation.roster))
    except (ValueError, KeyError) as error:
        return Problem(where(("set", label)) or where(("methods",)), f"{label}: {error.args[0]}")
    return None
