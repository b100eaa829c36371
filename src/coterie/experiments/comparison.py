"""Methods compared on one federation, from Python: what `coterie compare` does, with DataFrames as the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from coterie.experiments import config, grid, run, summary
from coterie.experiments.experiment import Entry, Experiment
from coterie.experiments.methods import IN_PYTHON
from coterie.experiments.reading import Overrides
from coterie.experiments.store import Store, results
from coterie.recipe import Recipe

Watch = Callable[[Store], AbstractContextManager[Any]]
"""Made with a run, and entered while it is played."""


@dataclass(frozen=True)
class Comparison:
    """A run that was played, and what came of it."""

    folder: Path

    @cached_property
    def rounds(self) -> pd.DataFrame:
        """A row a method, seed and round."""
        return results(self.folder)

    @property
    def table(self) -> pd.DataFrame:
        """A row a method, a column a figure: means over seeds."""
        return summary.table(self.store.outline, self.rounds, self.store.sizes())

    @property
    def document(self) -> dict[str, Any]:
        """What `coterie compare --json` writes."""
        return summary.document(self.store.outline, self.rounds, self.store.sizes())

    @property
    def store(self) -> Store:
        """The run's folder."""
        return Store.open(self.folder)


def compare(
    file: str | Path | None = None,
    *,
    methods: Sequence[str] | Mapping[str, Recipe] | None = None,
    out: str | Path | None = None,
    jobs: int | None = None,
    on: str = "loky",
    watch: Watch = nullcontext,
    **settings: Any,
) -> Comparison:
    """Plays methods × seeds and returns the results.

    `settings` are the keys of an experiment's file, and count more than what `file` says; tables are dicts, such as
    `partition={"scheme": "shards"}`. `methods` are names, or recipes of your own by a name for each; names may stand
    beside them: `{"mine": my_recipe, "uniform": "uniform"}`. `watch` is entered with the run while it is played.

    Raises `BadInputError`, a ValueError, with all that is wrong before anything runs.
    """
    given, recipes = settings, {}
    if isinstance(methods, Mapping):
        recipes = {label: one for label, one in methods.items() if not isinstance(one, str)}
        named = {label: {"method": one} for label, one in methods.items() if isinstance(one, str)}
        given = {**given, "methods": tuple(named) or ("uniform",), "set": {**named, **settings.get("set", {})}}
    elif methods is not None:
        given = {**given, "methods": tuple(methods)}
    overrides = {path: (".".join(path), value) for path, value in _paths(given)}
    experiment, where = config.located(file, overrides) if file else config.parse("", overrides)
    if isinstance(methods, Mapping):
        experiment = _with(experiment, methods, recipes)
    folder = Path(out) if out else run.free_name(Path("runs"), run.name_of(experiment))
    return _played(run.start(experiment, folder, where), experiment, jobs, on, watch)


def resume(
    folder: str | Path, *, methods: Mapping[str, Recipe] | None = None, jobs: int | None = None, on: str = "loky"
) -> Comparison:
    """Goes on with an interrupted run, to the same bytes; `methods` brings back recipes that were given in Python."""
    store, given = Store.open(folder), methods or {}
    named = {label: method for label, method in store.methods.items() if label not in given}
    changes: Overrides = {("methods",): ("methods", list(named) or ["uniform"])}
    experiment = _with(config.load(store.experiment, changes), {**dict.fromkeys(store.methods, ""), **given}, given)
    return _played(store, experiment, jobs, on)


def _played(store: Store, experiment: Experiment, jobs: int | None, on: str, watch: Watch = nullcontext) -> Comparison:
    with watch(store):
        outcomes = list(grid.play(store, experiment, jobs=jobs, on=on))
    for outcome in outcomes:
        if outcome.state == "failed":
            raise RuntimeError(f"{outcome.cell.method}, seed {outcome.cell.seed}: {outcome.reason}")
    run.finish(store)
    return Comparison(store.folder)


def _with(experiment: Experiment, methods: Mapping[str, Any], recipes: Mapping[str, Recipe]) -> Experiment:
    """The experiment with recipes among its methods, in the order in which they were given."""
    named = {entry.label: entry for entry in experiment.entries}
    entries = [Entry(label, IN_PYTHON, {}, recipes[label]) if label in recipes else named[label] for label in methods]
    baseline = experiment.baseline if experiment.baseline in methods else next(iter(methods))
    return replace(experiment, entries=tuple(entries), baseline=baseline)


def _paths(table: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values of nested tables by their paths."""
    for name, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _paths(value, (*path, name))
        else:
            yield (*path, name), list(value) if isinstance(value, tuple) else value
