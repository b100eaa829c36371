"""A comparison of methods played as a paper describes it, and printed beside the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from coterie.experiments import comparison, metrics, run
from coterie.experiments.metrics import Summary
from coterie.experiments.problems import BadInputError, Problem, unknown
from coterie.experiments.reproduce import Options

ACCURACIES = ("last_fifth_accuracy", "client_accuracy", "client_accuracy_weighted")
"""Shown beside what the paper shows: the steadier figure, and both ways to average over clients."""


@dataclass(frozen=True)
class Setting:
    """One column of a paper's table, as an experiment."""

    what: str
    """In words: data, who holds them, what is counted."""
    experiment: Mapping[str, Any]
    """The keys of an experiment's file."""
    methods: Mapping[str, Mapping[str, Any]]
    """Who takes part, by a label: the method (if it is called otherwise) and its settings."""
    figure: str
    """Which of the run's figures the paper prints, by its key in `compare --json`."""
    paper: Mapping[str, str] = field(default_factory=dict)
    """What the paper prints of methods that it compares."""
    seeds: int = 5

    def asked(self, options: Options) -> dict[str, Any]:
        """The experiment with what the command line says."""
        labels = _chosen(options.methods, self.methods)
        return {
            **self.experiment,
            "methods": list(labels),
            "set": {label: {"method": label, **self.methods[label]} for label in labels},
            "baseline": "uniform" if "uniform" in labels else labels[0],
            "seeds": _seeds(options.seeds) or self.seeds,
            **({"rounds": options.rounds} if options.rounds else {}),
            **({"data_dir": options.data_dir} if options.data_dir else {}),
        }


def play(reproduction: str, settings: Mapping[str, Setting], options: Options) -> dict[str, Any]:
    """Plays one setting, the first if none is named, and prints it; returns what `compare --json` writes, and the paper's."""
    name = options.setting or next(iter(settings))
    if name not in settings:
        raise BadInputError([Problem("--setting", unknown("setting", name, settings))])
    setting = settings[name]
    asked = setting.asked(options)
    labels = asked.pop("methods")
    folder = options.out or run.free_name(Path("runs"), f"{reproduction}-{name}")
    played = comparison.compare(methods=labels, out=folder, jobs=options.jobs, on=options.on, watch=options.watch, **asked)
    found = played.document
    for label, one in found["methods"].items():
        one["last_fifth_loss"] = asdict(_last_fifth_loss(played.rounds[played.rounds["method"] == label]))
    show(setting, found, played.folder)
    return {**found, "setting": name, "paper": dict(setting.paper)}


def show(setting: Setting, found: Mapping[str, Any], folder: Path) -> None:
    """Prints the figures that the paper prints, and those that it should have, in a table."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    more = ("last_fifth_loss",) if setting.figure == "loss" else ACCURACIES
    table = Table(title=setting.what, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for title in ("method", "ours", "paper", *(name.replace("_", " ") for name in more), "MB", "ours, per seed"):
        table.add_column(title, justify="left" if title in ("method", "ours, per seed") else "right")
    for label, one in found["methods"].items():
        table.add_row(
            label,
            _spread(one[setting.figure]),
            setting.paper.get(label, ""),
            *(_spread(one[name]) for name in more),
            f"{(one['bytes_up'] + one['bytes_down']) / 1e6:.4g}",
            " ".join("–" if value is None else f"{value:.4g}" for value in one[setting.figure]["per_seed"]),
        )
    Console().print(table)
    Console().print(f"± is a standard deviation over seeds. The whole run is in {folder}")


def _spread(found: Mapping[str, Any]) -> str:
    if found["mean"] is None:
        return "–"
    return f"{found['mean']:.4g}" + (f" ± {found['sd']:.2g}" if found["sd"] is not None else "")


def _last_fifth_loss(rounds: Any) -> Summary:
    """Mean test loss over the last fifth of the rounds: for regression, which has no accuracy."""
    return metrics.over_seeds([one["loss"].iloc[-max(1, len(one) // 5) :].mean() for _, one in rounds.groupby("seed")])


def _chosen(given: str | None, known: Mapping[str, Any]) -> list[str]:
    labels = [label.strip() for label in given.split(",")] if given else list(known)
    wrong = [label for label in labels if label not in known]
    if wrong:
        raise BadInputError([Problem("--methods", unknown("method", label, known)) for label in wrong])
    return labels


def _seeds(given: str | None) -> int | Sequence[int] | None:
    if given is None:
        return None
    try:
        return [int(seed) for seed in given.split(",")] if "," in given else int(given)
    except ValueError:
        raise BadInputError(
            [Problem("--seeds", f"must be a number of seeds, or a list such as 1,2,5, not {given!r}")]
        ) from None
