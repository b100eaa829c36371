"""Partitions as pictures: who holds which labels, whose samples look like what, and schemes side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie import seeds
from coterie.data.dataset import Dataset
from coterie.data.features import Features, features_of
from coterie.data.heterogeneity import Heterogeneity, measure
from coterie.data.partition import Partition

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 20
"""Clients in a histogram, as in the thesis's figures."""
INK, FAINT = "#1f2933", "#9aa5b1"


def picture(partition: Partition, dataset: Dataset, features: Features | None = None, seed: int = 0) -> Figure:
    """Labels of some clients, looks of a few, sizes of all, and the measures in words.

    Save it with `picture(partition, dataset).savefig("partition.png")`.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7.5), layout="constrained", facecolor="white")
    above, below = np.asarray(figure.subfigures(2, 1, height_ratios=[1, 1.1])).tolist()
    labels(above.subplots(), partition, dataset, seed=seed)
    left, right = below.subplots(1, 2)
    looks(left, partition, dataset, features, seed=seed)
    sizes(right, partition)
    found = measure(partition, dataset)
    figure.suptitle(f"{_title(partition, dataset)}\n{_in_words(found)}", color=INK, fontsize=11)
    return figure


def labels(axes: Axes, partition: Partition, dataset: Dataset, shown: int = SHOWN, seed: int = 0) -> None:
    """Stacked bars: how many samples of each label each client holds, for some clients drawn at random."""
    chosen = _some(np.flatnonzero(partition.sizes), shown, seed)
    y, classes = (dataset.y, dataset.classes) if dataset.classes else (np.zeros(len(dataset), dtype=np.int64), 1)
    counts = partition.counts(y, classes)[chosen]
    floor = np.zeros(len(chosen))
    for c, color in enumerate(_colors(classes)):
        axes.bar(range(len(chosen)), counts[:, c], bottom=floor, color=color, width=0.85, label=str(c), linewidth=0)
        floor += counts[:, c]
    axes.set_xticks(range(len(chosen)), [str(k) for k in chosen], fontsize=8)
    axes.set_xlim(-0.6, len(chosen) - 0.4)
    axes.set_xlabel("client", color=INK)
    axes.set_ylabel("samples", color=INK)
    if classes <= 20:
        axes.legend(
            title="label", ncols=1 + (classes > 10), loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8, frameon=False
        )
    _plain(axes, f"Labels of {len(chosen)} of {len(partition)} clients")


def looks(
    axes: Axes, partition: Partition, dataset: Dataset, features: Features | None = None, shown: int = 6, seed: int = 0
) -> None:
    """A map of samples by their first two features, those of a few clients in color."""
    rows = (features_of(dataset) if features is None else features)[:, :2]
    rows = rows if rows.shape[1] == 2 else np.column_stack([rows, np.zeros(len(rows))])
    dice = seeds.rng(seed, "picture")
    ground = dice.choice(len(rows), min(len(rows), 3000), replace=False)
    axes.scatter(rows[ground, 0], rows[ground, 1], s=4, color="#dfe4ea", linewidth=0)
    chosen = np.sort(np.argsort(-partition.sizes, kind="stable")[: max(4 * shown, 1)])
    chosen = _some(chosen, shown, seed)
    for client, color in zip(chosen, _colors(len(chosen)), strict=True):
        held = partition[int(client)]
        few = held if len(held) <= 150 else dice.choice(held, 150, replace=False)
        axes.scatter(rows[few, 0], rows[few, 1], s=11, color=color, alpha=0.8, linewidth=0, label=f"client {client}")
    axes.legend(fontsize=8, framealpha=0.85, edgecolor="white", loc="upper right", markerscale=1.8)
    axes.set_xticks([])
    axes.set_yticks([])
    _plain(axes, f"Looks: first two features (gray: all samples; color: {len(chosen)} of the larger clients)")


def sizes(axes: Axes, partition: Partition) -> None:
    """Sizes of all clients in falling order."""
    falling = np.sort(partition.sizes)[::-1]
    axes.fill_between(np.arange(len(falling)), falling, color="#4477aa", step="mid", linewidth=0)
    axes.set_xlim(0, max(len(falling) - 1, 1))
    axes.set_ylim(0)
    axes.set_xlabel("clients, largest first", color=INK)
    axes.set_ylabel("samples", color=INK)
    _plain(axes, "Sizes of all clients")


def side_by_side(partitions: Mapping[str, Partition], dataset: Dataset) -> Figure:
    """The measures of several partitions of one dataset, one panel a measure."""
    from matplotlib.figure import Figure

    found = {name: measure(partition, dataset) for name, partition in partitions.items()}
    panels = {"entropy": "entropy (nats)", "sparsity": "classes missing", "js": "JS distance", "size_gini": "Gini of sizes"}
    figure = Figure(figsize=(12, 1.4 + 0.42 * len(found)), layout="constrained", facecolor="white")
    for i, (axes, (key, title)) in enumerate(zip(figure.subplots(1, len(panels), sharey=True), panels.items(), strict=True)):
        values = [getattr(one, key) for one in found.values()]
        lengths = np.nan_to_num(values)
        bars = axes.barh(list(found), lengths, color=_colors(len(panels))[i], height=0.7)
        told = [f"{value:.2f}" if np.isfinite(value) else "no labels" for value in values]
        axes.bar_label(bars, told, padding=3, fontsize=9, color=INK)
        axes.set_xlim(0, 1.25 * max([*lengths, 1e-9]))
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        _plain(axes, title)
        axes.tick_params(axis="y", length=0)
    figure.axes[0].invert_yaxis()
    empty = ", ".join(f"{name}: {one.empty_clients}" for name, one in found.items() if one.empty_clients)
    note = f"; clients that hold nothing, left out: {empty}" if empty else ""
    figure.suptitle(f"{dataset.name}, {len(next(iter(partitions.values())))} clients{note}", color=INK, fontsize=11)
    return figure


def _in_words(found: Heterogeneity) -> str:
    words = f"entropy {found.entropy:.2f}, classes missing {found.sparsity:.2f}, JS distance {found.js:.2f}"
    nothing = f", {found.empty_clients} clients hold nothing" if found.empty_clients else ""
    return f"{words}, size Gini {found.size_gini:.2f}{nothing}"


def _title(partition: Partition, dataset: Dataset) -> str:
    told = {name: value for name, value in partition.settings.items() if isinstance(value, int | float) and value is not None}
    settings = ", ".join(f"{name} {value:g}" for name, value in told.items())
    return f"{dataset.name} by {partition.scheme}" + (f" ({settings})" if settings else "") + f", {len(partition)} clients"


def _some(clients: NDArray[np.intp], count: int, seed: int) -> NDArray[np.intp]:
    if len(clients) <= count:
        return clients
    return np.sort(seeds.rng(seed, "picture", "clients").choice(clients, count, replace=False))


def _colors(count: int) -> list[Any]:
    """Colors that stay apart for color-blind readers up to ten (Tol's), then a wheel."""
    tol = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#997700", "#222255", "#ee99aa", "#888888"]
    if count <= len(tol):
        return tol[:count]
    import matplotlib as mpl

    return [mpl.colormaps["turbo"](place) for place in np.linspace(0.05, 0.95, count)]


def _plain(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=10, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(colors=INK, labelsize=8)
