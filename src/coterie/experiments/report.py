"""The report of a run, or of several: one HTML file that works offline."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from coterie.experiments import clients_figures, figures, metrics, whole
from coterie.experiments.figures import Cells, Picture


@dataclass(frozen=True, eq=False)
class Material:
    """All that a report is made of."""

    title: str
    cells: Cells
    """The first method is the baseline."""
    clients: int
    sizes: Mapping[int, np.ndarray]
    """For each seed the training samples of each client."""
    target: float | None
    experiment: str
    """The resolved experiment, as a file."""
    partition: Mapping[str, float]
    """Measures of who holds which data."""
    reasons: pd.DataFrame
    """Why asks came to nothing: method, reason, count."""
    environment: str
    embeddings: Mapping[str, figures.Embedded] = field(default_factory=dict)
    """By method, where it keeps a vector for each client."""
    heard: Mapping[str, figures.Heard] = field(default_factory=dict)
    """By method, where there is no server and the labels that clients hold are known."""
    holdings: np.ndarray | None = None
    """Clients × labels: training samples with the first seed, where there are labels and the data are here."""

    @property
    def baseline(self) -> str:
        return next(iter(self.cells))


def pictures(material: Material) -> list[Picture]:
    """Every figure that the material allows."""
    cells, target = material.cells, material.target
    timed = any(rounds["simulated_seconds"].sum() > 0 for seeds in cells.values() for rounds in seeds.values())
    made = [figures.learning(cells, axis, target) for axis in ("rounds", "bytes", "time") if axis != "time" or timed]
    if target is not None:
        made.append(figures.to_target(cells, target))
    if len(cells) > 1:
        made.append(figures.differences(compared(cells), material.baseline, list(cells)))
    made.append(figures.participation(cells, material.clients))
    if any(len(metrics.clients(rounds)) for seeds in cells.values() for rounds in seeds.values()):
        made.append(figures.fairness(cells, material.clients))
    made.append(figures.crossing(cells))
    seed = min(material.sizes, default=0)
    grouped = [
        clients_figures.coalitions(method, one, s) for method, seeds in cells.items() for s, one in list(seeds.items())[:1]
    ]
    made += [one for one in grouped if one is not None]
    made += [figures.embeddings(method, learned) for method, learned in material.embeddings.items()]
    if material.heard:
        made.append(figures.likeness(material.heard, list(cells)))
    made += [figures.listening(method, heard) for method, heard in material.heard.items()]
    if material.holdings is not None:
        made.append(clients_figures.holdings(material.holdings, seed))
    return made


def compared(cells: Cells) -> dict[str, metrics.Paired]:
    """Accuracy in the last fifth, paired to the first method on the seeds that all methods have."""
    common = sorted(set.intersection(*(set(seeds) for seeds in cells.values())))
    values = {method: [metrics.last_fifth(seeds[seed]) for seed in common] for method, seeds in cells.items()}
    return metrics.paired(values, next(iter(cells)))


def rows(material: Material) -> list[dict[str, Any]]:
    """The table: a row a method, ready to print."""
    against = compared(material.cells) if len(material.cells) > 1 else {}
    palette = figures.colors(list(material.cells))
    made = []
    for method, seeds in material.cells.items():
        runs = list(seeds.values())
        reached = metrics.over_seeds([metrics.rounds_to(r, material.target) for r in runs]) if material.target else None
        paid = metrics.over_seeds([metrics.bytes_to(r, material.target) for r in runs]) if material.target else None
        made.append(
            {
                "method": method,
                "color": palette[method],
                "accuracy": _percent(metrics.over_seeds([metrics.last_fifth(r) for r in runs])),
                "difference": _difference(against.get(method)),
                "rounds": _reached(reached),
                "bytes": _reached(paid, figures.bytes_in_words),
                "clients": _percent(metrics.over_seeds([metrics.client_accuracy(r) for r in runs])),
                "weighted": _percent(
                    metrics.over_seeds([metrics.weighted_accuracy(r, material.sizes[seed]) for seed, r in seeds.items()])
                ),
                "worst": _percent(metrics.over_seeds([metrics.worst_decile(r) for r in runs])),
                "jain": _plain(metrics.over_seeds([metrics.jain(r) for r in runs]), 3),
                "unanswered": _percent(metrics.over_seeds([metrics.unanswered(r) for r in runs]), spread=False),
                "seconds": _plain(metrics.over_seeds([metrics.mean("seconds")(r) for r in runs]), 3),
            }
        )
    return made


def render(material: Material, made: Sequence[Picture]) -> str:
    """The report as HTML."""
    page = Environment(
        loader=PackageLoader("coterie.experiments"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).get_template("report.html")
    shown = [
        {
            "name": picture.name,
            "title": picture.title,
            "caption": picture.caption,
            "svg": Markup(picture.svg),
            "svg_link": _link("image/svg+xml", picture.svg.encode()),
            "png_link": _link("image/png", picture.png),
            "csv_link": _link("text/csv", picture.data.to_csv(index=False).encode()),
        }
        for picture in made
    ]
    seeds = sorted({seed for each in material.cells.values() for seed in each})
    return page.render(material=material, rows=rows(material), figures=shown, seeds=seeds)


def write(material: Material, file: Path) -> Path:
    """Writes the report whole or not at all, and each figure as SVG, PNG and CSV into `figures` beside it."""
    folder = file.parent / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    made = pictures(material)
    for picture in made:
        whole.write_text(folder / f"{picture.name}.svg", picture.svg)
        (folder / f"{picture.name}.png").write_bytes(picture.png)
        whole.write_text(folder / f"{picture.name}.csv", picture.data.to_csv(index=False))
    whole.write_text(file, render(material, made))
    return file


def _link(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _percent(summary: metrics.Summary, spread: bool = True) -> str:
    if summary.mean is None:
        return "–"
    if summary.low is None or summary.high is None or not spread:
        return f"{100 * summary.mean:.1f}"
    return f"{100 * summary.mean:.1f} ± {100 * (summary.high - summary.mean):.1f}"


def _plain(summary: metrics.Summary, digits: int) -> str:
    return "–" if summary.mean is None else f"{summary.mean:.{digits}g}"


def _reached(summary: metrics.Summary | None, spoken: Any = "{:.0f}".format) -> str:
    if summary is None:
        return "–"
    there = [value for value in summary.per_seed if value is not None]
    if not there:
        return "never"
    mean = spoken(float(np.mean(there)))
    return mean if len(there) == len(summary.per_seed) else f"{mean} ({len(there)} of {len(summary.per_seed)})"


def _difference(found: metrics.Paired | None) -> str:
    if found is None or found.difference.mean is None:
        return "–"
    summary = found.difference
    spread = "" if summary.low is None else f" [{100 * summary.low:+.1f}, {100 * (summary.high or 0):+.1f}]"
    return f"{100 * (summary.mean or 0):+.1f}{spread}" + ("" if found.p_holm is None else f", p = {found.p_holm:.2g}")
