"""A run from its experiment to its finished tables: start it, go on with it, finish it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from coterie.experiments import config, federations, grid
from coterie.experiments.config import Where
from coterie.experiments.experiment import Experiment
from coterie.experiments.problems import BadInputError, Problem
from coterie.experiments.store import Store, environment


def start(experiment: Experiment, folder: Path, where: Where = lambda path: "") -> Store:
    """Checks everything that can be checked before the first round, then makes the run's folder."""
    if folder.exists():
        what = f"{folder} is there already; 'coterie resume {folder}' goes on with a run, another --out starts one"
        raise BadInputError([Problem("--out", what)])
    dataset, partitions = federations.prepare(experiment, where)
    facts = environment(dataset=dataset.name, fingerprint=dataset.fingerprint, seeds=list(experiment.seeds))
    folder.parent.mkdir(parents=True, exist_ok=True)
    return Store.create(folder, config.text(experiment), facts, partitions)


def finish(store: Store) -> bool:
    """Merges the tables if every cell reached its last round; says whether it did."""
    if store.complete or not grid.unfinished(store):
        store.merge()
    return store.complete


def free_name(parent: Path, stem: str) -> Path:
    """A folder that is not there yet: `stem`, then `stem-2` and so on."""
    return next(path for path in _names(parent, stem) if not path.exists())


def name_of(experiment: Experiment) -> str:
    """What a run is called when nobody names it: its data and who holds which of them."""
    words = f"{Path(experiment.dataset).stem}-{config.document(experiment)['partition']['scheme']}"
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in words)


def _names(parent: Path, stem: str) -> Iterator[Path]:
    yield parent / stem
    number = 2
    while True:
        yield parent / f"{stem}-{number}"
        number += 1
