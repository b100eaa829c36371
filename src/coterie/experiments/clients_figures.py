"""Pictures of the clients of a run: which labels they hold, and in which coalitions they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.colors import ListedColormap, to_hex
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from coterie.experiments.figures import COLORS, Picture, axes_of, word

SHOWN = 100
"""Clients whose labels are drawn at most."""
NOWHERE = "#e4e6ea"
"""The color of clients in no coalition."""


def holdings(counts: NDArray[np.int64], seed: int) -> Picture:
    """How many samples of each label each client holds; those with the same main label side by side."""
    order = np.lexsort((-counts.sum(axis=1), counts.argmax(axis=1)))
    shown = order[np.unique(np.linspace(0, len(order) - 1, min(SHOWN, len(order))).astype(int))]
    figure, axes = axes_of()
    floor = np.zeros(len(shown))
    for label, color in enumerate(_label_colors(counts.shape[1])):
        held = counts[shown, label]
        axes.bar(range(len(shown)), held, bottom=floor, color=color, width=1.0, linewidth=0, label=str(label))
        floor += held
    axes.set_xlim(-0.5, len(shown) - 0.5)
    axes.set_xticks([])
    axes.set_xlabel("clients, those with the same main label side by side")
    axes.set_ylabel("training samples")
    if counts.shape[1] <= 20:
        columns = min(counts.shape[1], 10)
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1.0),
            ncols=columns,
            frameon=False,
            fontsize=8,
            handlelength=0.8,
            columnspacing=0.9,
        )
    caption = f"Seed {seed}, " + ("all clients" if len(shown) == len(counts) else f"{len(shown)} of {len(counts)} clients")
    clients, labels = np.nonzero(counts)
    data = pd.DataFrame({"client": clients, "label": labels, "samples": counts[clients, labels]})
    return Picture("holdings", "Who holds which labels", f"{caption}. A color a label.", figure, data)


def coalitions(method: str, rounds: pd.DataFrame, seed: int) -> Picture | None:
    """Who is with whom, round by round; None where all were always together."""
    there = rounds[rounds["coalitions"].notna()] if "coalitions" in rounds else rounds.iloc[:0]
    if not len(there) or max(len(np.unique(one)) for one in there["coalitions"]) < 2:
        return None
    kept = followed(np.stack(there["coalitions"].to_list()))
    order = np.lexsort(kept[::-1][:: max(1, len(kept) // 8)][::-1])
    figure, axes = axes_of()
    shades = np.where(kept >= 0, 1 + kept % len(COLORS), 0)[:, order]
    first, last = int(there["round"].iloc[0]), int(there["round"].iloc[-1])
    axes.imshow(
        shades.T,
        cmap=ListedColormap([NOWHERE, *COLORS]),
        vmin=0,
        vmax=len(COLORS),
        interpolation="nearest",
        aspect="auto",
        extent=(first - 0.5, last + 0.5, 100, 0),
    )
    axes.grid(visible=False)
    axes.set_xlabel("round")
    axes.set_ylabel("clients (%)")
    count = len(np.unique(kept[-1][kept[-1] >= 0]))
    caption = f"Seed {seed}. A row a client, a color a coalition, gray in none; {count} in the last round."
    data = pd.DataFrame(
        {
            "round": np.repeat(there["round"].to_numpy(), kept.shape[1]),
            "client": np.tile(np.arange(kept.shape[1]), len(kept)),
            "coalition": kept.ravel(),
        }
    )
    return Picture(f"coalitions-{word(method)}", f"Coalitions of {method} over time", caption, figure, data)


def followed(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rounds × clients, renumbered so that a coalition keeps its number while most of its members stay together.

    >>> followed(np.array([[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 1, -1]])).tolist()
    [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, -1]]
    """
    kept, fresh = labels.astype(np.intp), int(labels[0].max(initial=-1)) + 1
    for t in range(1, len(kept)):
        new, old = np.unique(kept[t][kept[t] >= 0]), np.unique(kept[t - 1][kept[t - 1] >= 0])
        overlap = np.array([[np.sum((kept[t] == n) & (kept[t - 1] == o)) for o in old] for n in new]).reshape(
            len(new), len(old)
        )
        rows, columns = linear_sum_assignment(-overlap)
        names = {int(new[r]): int(old[c]) for r, c in zip(rows, columns, strict=True) if overlap[r, c]}
        for n in new.tolist():
            if n not in names:
                names[n], fresh = fresh, fresh + 1
        kept[t] = [names.get(int(n), -1) for n in kept[t]]
    return kept


def _label_colors(count: int) -> list[str]:
    if count <= len(COLORS):
        return list(COLORS[:count])
    wheel = colormaps["turbo"](np.linspace(0.05, 0.95, count))
    return [to_hex(color) for color in wheel]
