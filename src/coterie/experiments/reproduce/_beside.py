"""A comparison of methods played as a paper describes it, and printed beside the paper's numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int64

from coterie.experiments import comparison, material, metrics, run
from coterie.experiments.comparison import Comparison
from coterie.experiments.metrics import Ratio, Rounds
from coterie.experiments.problems import BadInputError, Problem, unknown
from coterie.experiments.reproduce import Options

Sizes = Int64[np.ndarray, " clients"]
Figure = Callable[[Rounds, Sizes], float]
"""A figure of one method and seed, from its rounds and how many samples each client holds; NaN where there is none."""
SHOWN_PER_SEED = 10


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
    more: Mapping[str, Figure] = field(default_factory=dict)
    """Figures that the paper should have, by the key under which they stand beside the others."""
    spent: Mapping[str, Figure] = field(default_factory=dict)
    """Figures whose ratio to the baseline is shown, by key, with what stands for one that never came."""

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
    found = figures(setting, played)
    show(setting, found)
    print("± is a standard deviation over seeds.")
    print(f"report: {material.write_report(played.folder)}")
    return {**found, "setting": name, "paper": dict(setting.paper)}


def figures(setting: Setting, played: Comparison) -> dict[str, Any]:
    """What `compare --json` writes, with the setting's own figures and ratios to the baseline."""
    found, sizes = played.document, played.store.sizes()
    cells = {
        label: [one.sort_values("round") for _, one in played.rounds[played.rounds["method"] == label].groupby("seed")]
        for label in found["methods"]
    }

    def each(label: str, figure: Figure) -> list[float]:
        return [figure(one, sizes[int(one["seed"].iloc[0])]) for one in cells[label]]

    for label, one in found["methods"].items():
        one |= {key: asdict(metrics.over_seeds(each(label, figure))) for key, figure in setting.more.items()}
    ratios: dict[str, dict[str, Any]] = {}
    for key, instead in setting.spent.items():
        told = {label: np.array(one[key]["per_seed"], np.float64) for label, one in found["methods"].items()}
        values = {label: np.where(np.isnan(told[label]), each(label, instead), told[label]) for label in told}
        made = {label: metrics.ratio(one, values[found["baseline"]]) for label, one in values.items()}
        ratios[key] = {label: one and asdict(one) for label, one in made.items() if label != found["baseline"]}
    return {**found, "ratios": ratios}


def show(setting: Setting, found: Mapping[str, Any]) -> None:
    """Prints the figures that the paper prints, and those that it should have, in two tables."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    def table(title: str, *columns: str) -> Table:
        made = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
        for place, name in enumerate(columns):
            made.add_column(name, justify="right" if place else "left")
        return made

    base, methods, ratios = found["baseline"], found["methods"], found["ratios"]
    first = table(setting.what, "method", "ours", "paper", *(f"{_short(key)} / {base}'s" for key in ratios), "per seed")
    for label, one in methods.items():
        seen = one[setting.figure]["per_seed"]
        first.add_row(
            label,
            _spread(one[setting.figure]),
            setting.paper.get(label, ""),
            *(_ratio(each.get(label)) for each in ratios.values()),
            " ".join("–" if value is None else f"{value:.4g}" for value in seen[:SHOWN_PER_SEED]),
        )
    second = table("And beside it", "figure", *methods)
    for key in (*setting.more, *(["accuracy_within_budget"] if found["target"] or setting.figure != "loss" else [])):
        second.add_row(key.replace("_", " "), *(_spread(one[key]) for one in methods.values()))
    second.add_row("megabytes", *(f"{_bytes(one) / 1e6:.4g}" for one in methods.values()))
    Console().print(first)
    Console().print(second)
    if ratios:
        print("Ratios are geometric means over seeds [95 % bootstrap interval], with how many seeds needed less.")


def transfers(rounds: Rounds) -> Any:
    """What crossed in each round, counted in models sent one way."""
    models = rounds["answered"].map(len).sum()
    return metrics.total_bytes(rounds) / (rounds["up_model"].sum() / models) if models else np.full(len(rounds), np.nan)


def clients_between(first: int, last: int, weighted: bool) -> Figure:
    """Mean over some rounds of clients' accuracy on their own test data, every client or every sample alike."""

    def figure(rounds: Rounds, sizes: Sizes) -> float:
        some = rounds[rounds["round"].between(first, last)]
        return _over_clients(some, sizes, weighted) if len(some) == last - first + 1 else np.nan

    return figure


def clients_last_fifth(weighted: bool) -> Figure:
    """The same over the last fifth of the rounds."""
    return lambda rounds, sizes: _over_clients(rounds.iloc[-max(1, len(rounds) // 5) :], sizes, weighted)


def last_fifth_loss(rounds: Rounds, sizes: Sizes) -> float:
    """Mean test loss over the last fifth of the rounds: for regression, which has no accuracy."""
    return float(rounds["loss"].iloc[-max(1, len(rounds) // 5) :].mean())


def _over_clients(rounds: Rounds, sizes: Sizes, weighted: bool) -> float:
    told = rounds["client_accuracy"].dropna() if "client_accuracy" in rounds else ()
    if not len(told):
        return np.nan
    each = np.stack([np.asarray(one, np.float64) for one in told]).mean(axis=0)
    there = ~np.isnan(each)
    return float(np.average(each[there], weights=sizes[there] if weighted else None)) if there.any() else np.nan


def _short(key: str) -> str:
    return key.partition("_")[0]


def _spread(found: Mapping[str, Any]) -> str:
    there = [value for value in found["per_seed"] if value is not None]
    if not there:
        return "–"
    shown = f"{np.mean(there):.4g}" + (f" ± {np.std(there, ddof=1):.2g}" if len(there) > 1 else "")
    return shown if len(there) == len(found["per_seed"]) else f"{shown} ({len(there)} of {len(found['per_seed'])})"


def _bytes(one: Mapping[str, Any]) -> float:
    return float(one["bytes_up"] + one["bytes_down"] + one["bytes_between"])


def _ratio(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return ""
    one = Ratio(**found)
    return f"{one.mean:.2f} [{one.low:.2f}, {one.high:.2f}] {one.won}/{one.seeds}"


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
        return [int(seed) for seed in given.rstrip(",").split(",")] if "," in given else int(given)
    except ValueError:
        raise BadInputError(
            [Problem("--seeds", f"must be a number of seeds, or a list such as 1,2,5, not {given!r}")]
        ) from None
