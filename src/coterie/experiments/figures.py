"""Pictures of a run, each with the data behind it: pure functions from tables to figures."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from coterie.experiments import metrics

Cells = Mapping[str, Mapping[int, pd.DataFrame]]
"""The rounds of each method and seed."""

COLORS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#555555", "#ee8866", "#44bb99", "#99ddff")
"""Paul Tol's bright scheme, told apart by the color-blind, then his light one."""

STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.grid": True,
    "grid.color": "#e8e8e8",
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "text.color": "#222222",
    "axes.labelcolor": "#444444",
    "svg.fonttype": "none",
    "svg.hashsalt": "coterie",
    "font.family": "sans-serif",
}
SIZE = (5.2, 3.3)


@dataclass(frozen=True, eq=False)
class Embedded:
    """What a method came to know of the clients as vectors: its last embeddings with one seed."""

    rows: NDArray[np.float64]
    """One a client."""
    labels: NDArray[np.int64] | None
    """The label of which each client holds most, where there are labels."""
    seed: int
    round: int


@dataclass(frozen=True, eq=False)
class Heard:
    """Who listened to whom, and who is like whom in truth."""

    weights: pd.DataFrame
    """Seed, round, client, heard and weight, of the rounds that were evaluated."""
    likeness: Mapping[int, NDArray[np.float64]]
    """For each seed clients × clients: what part of the labels two clients have in common."""

    def others(self) -> pd.DataFrame:
        """The weights on others than oneself, with how like these are; of the seeds whose data are known."""
        known = self.weights[(self.weights["client"] != self.weights["heard"]) & self.weights["seed"].isin(self.likeness)]
        parts = [
            part.assign(likeness=self.likeness[int(str(seed))][part["client"], part["heard"]])
            for seed, part in known.groupby("seed")
        ]
        return pd.concat(parts) if parts else known.assign(likeness=np.empty(0))


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure, what it says, and its data."""

    name: str
    title: str
    caption: str
    figure: Figure
    data: pd.DataFrame

    @cached_property
    def svg(self) -> str:
        """The figure as an SVG element that scales to its container."""
        buffer = io.StringIO()
        with _style():
            self.figure.savefig(buffer, format="svg", metadata={"Date": None}, bbox_inches="tight")
        text = buffer.getvalue()
        return text[text.index("<svg") :]

    @cached_property
    def png(self) -> bytes:
        """The figure for slides and papers."""
        buffer = io.BytesIO()
        with _style():
            self.figure.savefig(buffer, format="png", dpi=200, bbox_inches="tight", metadata={"Software": None})
        return buffer.getvalue()


def colors(methods: Sequence[str]) -> dict[str, str]:
    """Each method's color, the same in every figure and table."""
    return {method: COLORS[i % len(COLORS)] for i, method in enumerate(methods)}


def learning(cells: Cells, axis: str, target: float | None) -> Picture:
    """Accuracy against rounds, bytes or simulated seconds: the mean over seeds, and a band from the worst to the best."""
    label, scale = AXES[axis]
    figure, axes = axes_of()
    table = []
    for method, color in colors(list(cells)).items():
        grid, heights, window = _curves(list(cells[method].values()), scale)
        if not len(grid):
            continue
        middle = heights.mean(axis=0)
        axes.fill_between(grid, heights.min(axis=0), heights.max(axis=0), color=color, alpha=0.13, linewidth=0)
        axes.plot(grid, middle, color=color, linewidth=1.8, label=method)
        columns = {label: grid, "mean": middle, "lowest": heights.min(axis=0), "highest": heights.max(axis=0)}
        table.append(pd.DataFrame(columns).assign(method=method, smoothed_over_rounds=window))
    if target is not None:
        axes.axhline(target, color="#222222", linewidth=0.9, linestyle=(0, (4, 3)))
        axes.annotate("target", (1, target), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8)
    axes.set_xlabel(label)
    axes.set_ylabel("accuracy on the global test set")
    axes.yaxis.set_major_formatter(PERCENT)
    axes.set_xlim(left=0)
    _legend(axes, len(cells))
    window = int(table[0]["smoothed_over_rounds"].iloc[0]) if table else 1
    smoothed = f"Running mean over {window} rounds. " if window > 1 else ""
    caption = f"{smoothed}Line: mean over seeds. Band: lowest to highest seed."
    return Picture(f"accuracy-by-{axis}", f"Accuracy against {axis}", caption, figure, _concat(table))


def to_target(cells: Cells, target: float) -> Picture:
    """Rounds to the target, a dot a seed."""
    figure, axes = axes_of(height=0.9 + 0.38 * len(cells))
    palette, table = colors(list(cells)), []
    longest = max(int(rounds["round"].max()) for seeds in cells.values() for rounds in seeds.values())
    for row, (method, seeds) in enumerate(cells.items()):
        found = np.array([metrics.rounds_to(rounds, target) for rounds in seeds.values()])
        there = found[~np.isnan(found)]
        axes.plot(there, np.full(len(there), row), "o", color=palette[method], alpha=0.55, markersize=6, markeredgewidth=0)
        if len(there) == len(found):
            axes.plot([there.mean()] * 2, [row - 0.3, row + 0.3], color=palette[method], linewidth=2.5)
        missing = len(found) - len(there)
        if missing:
            axes.annotate(
                f"{missing} of {len(found)} never", (longest, row), ha="right", va="center", fontsize=8, color="#777777"
            )
        table.append(pd.DataFrame({"method": method, "seed": list(seeds), "rounds_to_target": found}))
    axes.set_yticks(range(len(cells)), list(cells))
    axes.set_ylim(len(cells) - 0.5, -0.5)
    axes.set_xlim(0, longest * 1.02)
    axes.set_xlabel(f"rounds until accuracy first reaches {target:.0%}" if target >= 0.01 else "rounds to target")
    axes.grid(axis="y", visible=False)
    caption = "A dot a seed; the bar is the mean where every seed arrives. First raw crossing: partly luck."
    return Picture("rounds-to-target", "Rounds to target", caption, figure, _concat(table))


def differences(paired: Mapping[str, metrics.Paired], baseline: str, methods: Sequence[str]) -> Picture:
    """Paired differences of accuracy to the baseline, with 95 % intervals."""
    figure, axes = axes_of(height=0.9 + 0.38 * len(paired))
    palette, table = colors(methods), []
    for row, (method, found) in enumerate(paired.items()):
        values = [value for value in found.difference.per_seed if value is not None]
        axes.plot(values, np.full(len(values), row), "o", color=palette[method], alpha=0.35, markersize=5, markeredgewidth=0)
        if found.difference.mean is not None:
            axes.plot(found.difference.mean, row, "D", color=palette[method], markersize=6)
        if found.difference.low is not None and found.difference.high is not None:
            axes.plot([found.difference.low, found.difference.high], [row, row], color=palette[method], linewidth=2)
        summary = found.difference
        table.append({"method": method, "mean": summary.mean, "low": summary.low, "high": summary.high, "p_holm": found.p_holm})
    axes.axvline(0, color="#222222", linewidth=0.9)
    axes.set_yticks(range(len(paired)), list(paired))
    axes.set_ylim(len(paired) - 0.5, -0.5)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:+.0f}" if value else "0"))
    axes.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
    axes.set_xlabel(f"accuracy minus {baseline}'s on the same seed, in points")
    axes.grid(axis="y", visible=False)
    caption = "Mean of the last fifth of the rounds. Dots: seeds. Diamond and line: mean and 95 % t-interval."
    return Picture("paired-differences", f"Paired differences to {baseline}", caption, figure, pd.DataFrame(table))


def participation(cells: Cells, clients: int) -> Picture:
    """How often each client was chosen, clients sorted, mean over seeds."""
    figure, axes = axes_of()
    table = []
    for method, color in colors(list(cells)).items():
        counts = np.stack([np.sort(chosen(rounds, clients)) for rounds in cells[method].values()])
        share = counts.mean(axis=0) / max(counts.mean(), 1e-12)
        axes.plot(np.linspace(0, 100, clients), share, color=color, linewidth=1.8, label=method)
        table.append(pd.DataFrame({"method": method, "rank": np.arange(clients), "times_fair_share": share}))
    axes.axhline(1, color="#222222", linewidth=0.9, linestyle=(0, (4, 3)))
    axes.set_xlabel("clients, from least to most often chosen (%)")
    axes.set_ylabel("times chosen / fair share")
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, 100)
    _legend(axes, len(cells))
    caption = "A flat line at 1 is an equal share for all. Mean over seeds."
    return Picture("participation", "Who is chosen how often", caption, figure, _concat(table))


def fairness(cells: Cells, clients: int) -> Picture:
    """Clients' accuracies, sorted: whose suffers."""
    figure, axes = axes_of()
    table = []
    for method, color in colors(list(cells)).items():
        rows = [np.sort(metrics.clients(rounds)) for rounds in cells[method].values()]
        levels = np.linspace(0, 1, min(clients, 101))
        heights = np.mean([np.quantile(row, levels) for row in rows if len(row)] or [np.full(len(levels), np.nan)], axis=0)
        axes.plot(100 * levels, heights, color=color, linewidth=1.8, label=method)
        table.append(pd.DataFrame({"method": method, "percentile": 100 * levels, "accuracy": heights}))
    axes.axvspan(0, 10, color="#000000", alpha=0.05, linewidth=0)
    axes.annotate("worst\ndecile", (1, 0.98), xycoords=("data", "axes fraction"), va="top", fontsize=8, color="#777777")
    axes.set_xlabel("clients, from worst to best served (%)")
    axes.set_ylabel("accuracy on the client's own test data")
    axes.yaxis.set_major_formatter(PERCENT)
    axes.set_xlim(0, 100)
    _legend(axes, len(cells))
    caption = "After the last evaluated round, mean over seeds."
    return Picture("fairness", "Whose accuracy suffers", caption, figure, _concat(table))


def crossing(cells: Cells) -> Picture:
    """What crossed between server and clients, by kind: what each method learned about clients."""
    kinds = sorted(
        {str(column) for seeds in cells.values() for rounds in seeds.values() for column in rounds if _is_kind(column)}
    )
    sums = [[np.mean([_total(rounds, kind) for rounds in seeds.values()]) for kind in kinds] for seeds in cells.values()]
    totals = pd.DataFrame(sums, index=pd.Index(cells, name="method"), columns=kinds)
    figure, axes = axes_of(height=0.9 + 0.38 * len(cells))
    left = np.zeros(len(cells))
    for place, kind in enumerate(kinds):
        values = totals[kind].to_numpy()
        axes.barh(range(len(cells)), values, left=left, height=0.62, color=COLORS[place % len(COLORS)], label=_spoken(kind))
        left += values
    axes.set_yticks(range(len(cells)), list(cells))
    axes.set_ylim(len(cells) - 0.5, -0.5)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: bytes_in_words(value)))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.set_xlabel("bytes a run, mean over seeds")
    axes.grid(axis="y", visible=False)
    _legend(axes, len(kinds))
    caption = "Everything that crossed: models, and the answers to questions about clients' data."
    return Picture("meter", "What crossed, by kind", caption, figure, totals.reset_index())


def embeddings(method: str, learned: Embedded) -> Picture:
    """Clients as the server came to see them, by t-SNE of their embeddings at length 1; colored by most frequent label."""
    figure, axes = axes_of(height=4.2)
    flat = _tsne(learned.rows)
    named = learned.labels is not None
    labels = np.zeros(len(flat), np.int64) if learned.labels is None else learned.labels
    for label in np.unique(labels):
        own = labels == label
        color = COLORS[int(label) % len(COLORS)]
        axes.plot(flat[own, 0], flat[own, 1], "o", color=color, markersize=5, markeredgewidth=0, alpha=0.85)
        for point in flat[own] if named else ():
            axes.annotate(str(label), point, fontsize=6.5, color=color, xytext=(4, 1), textcoords="offset points")
    axes.set_xticks([])
    axes.set_yticks([])
    near = "" if not named else f" Nearest neighbor of the same label: {purity(learned.rows, labels):.0%}."
    numbered = " and number: the label of which it holds most" if named else ""
    caption = f"Seed {learned.seed}, after round {learned.round}. A dot a client; color{numbered}.{near}"
    data = pd.DataFrame({"client": np.arange(len(flat)), "x": flat[:, 0], "y": flat[:, 1], "label": labels})
    return Picture(f"embeddings-{word(method)}", f"Clients as {method} sees them", caption, figure, data)


def likeness(heard: Mapping[str, Heard], methods: Sequence[str]) -> Picture:
    """How like those are whom clients listen to, over the rounds, beside how like clients are to one another at all."""
    figure, axes = axes_of()
    table, palette = [], colors(methods)
    for method, one in heard.items():
        others = one.others()
        if not len(others):
            continue
        others = others.assign(part=others["weight"] * others["likeness"])
        sums = others.groupby(["seed", "round"])[["part", "weight"]].sum()
        found = (sums["part"] / sums["weight"]).groupby("round").mean()
        axes.plot(found.index, found, color=palette[method], linewidth=1.8, marker="o", markersize=3, label=method)
        table.append(pd.DataFrame({"method": method, "round": found.index, "likeness": found.to_numpy()}))
    chance = [_others(matrix).mean() for one in heard.values() for matrix in one.likeness.values()]
    axes.axhline(float(np.mean(chance)), color="#222222", linewidth=0.9, linestyle=(0, (4, 3)))
    axes.annotate("all pairs", (1, np.mean(chance)), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8)
    axes.set_xlabel("round")
    axes.set_ylabel("labels in common with those heard")
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PERCENT)
    _legend(axes, len(table))
    caption = "Mean over the weight that clients give to others, over seeds. Who hears nobody else does not count."
    return Picture("likeness-of-the-heard", "Do clients listen to the like?", caption, figure, _concat(table))


def listening(method: str, heard: Heard) -> Picture:
    """Who listens to whom in the first, the middle and the last of the evaluated rounds, beside who is like whom."""
    seed, matrix = next(iter(sorted(heard.likeness.items())))
    mine = heard.weights[heard.weights["seed"] == seed]
    rounds = np.unique(mine["round"])
    chosen = list(dict.fromkeys(rounds[[0, (len(rounds) - 1) // 2, -1]].tolist()))
    order = alike_together(matrix)
    place = np.argsort(order)
    with _style():
        figure = Figure(figsize=(SIZE[0], 1.95), layout="constrained")
        row = figure.subplots(1, 1 + len(chosen))
    panels = [("labels in common", matrix[np.ix_(order, order)], 1.0)]
    for t in chosen:
        of = mine[(mine["round"] == t) & (mine["client"] != mine["heard"])]
        weights = np.zeros_like(matrix)
        weights[place[of["client"]], place[of["heard"]]] = of["weight"]
        panels.append((f"round {t}", weights, max(float(weights.max()), 1e-12)))
    for axes, (title, values, most) in zip(row, panels, strict=True):
        axes.imshow(values, cmap="Greys", vmin=0, vmax=most, interpolation="nearest", aspect="equal")
        axes.set_title(title, fontsize=8)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.grid(visible=False)
    caption = (
        f"Seed {seed}. Rows: who listens; columns: to whom; clients with like labels side by side. "
        "Left: the truth. Then the weight on others than oneself, black the heaviest of its round."
    )
    data = mine[mine["round"].isin(chosen)][["round", "client", "heard", "weight"]]
    return Picture(f"listening-{word(method)}", f"Whom {method} has clients listen to", caption, figure, data)


def alike_together(matrix: NDArray[np.float64]) -> NDArray[np.intp]:
    """An order of the clients in which those with much in common stand side by side.

    >>> alike_together(np.array([[1.0, 0.1, 0.9], [0.1, 1.0, 0.0], [0.9, 0.0, 1.0]])).tolist()
    [1, 0, 2]
    """
    from scipy.cluster.hierarchy import leaves_list, linkage

    if len(matrix) < 3:
        return np.arange(len(matrix))
    apart = 1 - matrix[np.triu_indices(len(matrix), 1)]
    return np.asarray(leaves_list(linkage(apart, "average", optimal_ordering=True)), np.intp)


def _others(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(matrix[~np.eye(len(matrix), dtype=bool)])


def word(method: str) -> str:
    """A method's label as part of a file's name."""
    return re.sub(r"\W+", "-", method).strip("-")


def purity(rows: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """The share of clients whose nearest embedding, at length 1, is of a client with the same label.

    >>> purity(np.array([[1, 0], [2, 0.1], [0, 1], [0.1, 3]]), np.array([0, 0, 1, 1]))
    1.0
    """
    unit = _unit(rows)
    alike = unit @ unit.T
    np.fill_diagonal(alike, -np.inf)
    return float(np.mean(labels[alike.argmax(axis=1)] == labels))


def chosen(rounds: pd.DataFrame, clients: int) -> NDArray[np.intp]:
    """How often each client was asked to train."""
    everyone = np.concatenate([np.empty(0, np.intp), *(np.asarray(ids, np.intp) for ids in rounds["chosen"])])
    return np.bincount(everyone, minlength=clients)


def bytes_in_words(count: float) -> str:
    """A number of bytes for people.

    >>> bytes_in_words(999), bytes_in_words(2_500_000)
    ('999 B', '2.5 MB')
    """
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} B"


def _megabytes(rounds: pd.DataFrame) -> NDArray[np.float64]:
    return metrics.total_bytes(rounds).cumsum() / 1e6


AXES: dict[str, tuple[str, Callable[[pd.DataFrame], NDArray[np.float64]]]] = {
    "rounds": ("round", lambda rounds: rounds["round"].to_numpy(dtype=np.float64)),
    "bytes": ("megabytes, all directions", _megabytes),
    "time": ("simulated seconds", lambda rounds: rounds["simulated_seconds"].to_numpy().cumsum()),
}
PERCENT = FuncFormatter(lambda value, _: f"{100 * value:.0f} %")


def _curves(
    runs: Sequence[pd.DataFrame], scale: Callable[[pd.DataFrame], NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """One grid for all seeds, as far as all of them reach, and the smoothed accuracy of each on it."""
    seen = [(scale(rounds), rounds["accuracy"].to_numpy(dtype=np.float64)) for rounds in runs]
    seen = [(x[~np.isnan(y)], y[~np.isnan(y)]) for x, y in seen]
    seen = [(x, y) for x, y in seen if len(x)]
    if not seen:
        return np.empty(0), np.empty((0, 0)), 1
    window = max(1, min(len(y) for _, y in seen) // 30)
    smooth = [(x, _running_mean(y, window)) for x, y in seen]
    points = max(len(x) for x, _ in smooth)
    grid = np.linspace(max(x[0] for x, _ in smooth), min(x[-1] for x, _ in smooth), points)
    return grid, np.stack([np.interp(grid, x, y) for x, y in smooth]), window


def _running_mean(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """The mean of the last `window` values, of fewer at the start."""
    sums = np.cumsum(np.concatenate([[0.0], values]))
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - window, 0)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1))


def _tsne(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Two coordinates a client; as many neighbors count as fit, thirty at most."""
    from sklearn.manifold import TSNE

    perplexity = min(30.0, (len(rows) - 1) / 3)
    return np.asarray(TSNE(perplexity=perplexity, init="pca", random_state=0).fit_transform(_unit(rows)), np.float64)


def axes_of(height: float = SIZE[1]) -> tuple[Figure, Axes]:
    """An empty figure in the report's style."""
    with _style():
        figure = Figure(figsize=(SIZE[0], max(height, 1.6)), layout="constrained")
        return figure, figure.subplots()


def _style() -> Any:
    import matplotlib as mpl

    return mpl.rc_context(STYLE)


def _legend(axes: Axes, entries: int) -> None:
    if not axes.get_legend_handles_labels()[0]:
        return
    columns = min(entries, 3)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=columns, frameon=False, fontsize=9, handlelength=1.2)


def _concat(tables: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _is_kind(column: object) -> bool:
    return str(column).startswith(("up_", "down_", "between_"))


def _total(rounds: pd.DataFrame, kind: str) -> float:
    return float(rounds[kind].sum()) if kind in rounds else 0.0


def _spoken(kind: str) -> str:
    way, _, what = kind.partition("_")
    return f"{what} {way}" if way != "between" else f"{what} between clients"
