"""From the folder of a run, or of several, to what a report is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from coterie.experiments import checkpoint, metrics
from coterie.experiments.figures import Cells, Embedded, Heard
from coterie.experiments.store import Store, decisions, listening, results

MOST = 2000
"""Clients whose embeddings are still drawn."""
MOST_HEARD = 300
"""Clients whose listening is still drawn."""

if TYPE_CHECKING:
    from coterie.experiments.report import Material


def write_report(folder: str | Path) -> Path:
    """Writes the report of a run into its folder."""
    from coterie.experiments import report

    return report.write(of_run(Store.open(folder)), Path(folder) / "report.html")


def of_run(store: Store) -> Material:
    """The material of one run, finished or not."""
    from coterie.experiments.report import Material

    outline, rounds = store.outline, results(store.folder)
    held = _label_counts(store, min(cell.seed for cell in outline.cells))
    return Material(
        title=store.folder.resolve().name,
        cells=_cells(rounds, outline.baseline, outline.labels),
        clients=outline.clients,
        sizes=store.sizes(),
        target=outline.target,
        experiment=store.experiment.read_text(encoding="utf-8"),
        partition=_measures(store) | ({} if held is None else _unlike(held)),
        reasons=reasons(decisions(store.folder)),
        environment=(store.folder / "environment.json").read_text(encoding="utf-8"),
        embeddings=embeddings(store),
        heard=heard(store),
        holdings=held,
    )


def of_runs(stores: Sequence[Store]) -> Material:
    """The material of several runs side by side: methods are called by their run, and only shared seeds are paired."""
    made = [of_run(store) for store in stores]
    cells = {f"{one.title}: {label}": seeds for one in made for label, seeds in one.cells.items()}
    return replace(
        made[0],
        title=", ".join(one.title for one in made),
        cells=cells,
        clients=max(one.clients for one in made),
        experiment="\n".join(f"# {one.title}\n{one.experiment}" for one in made),
        embeddings={f"{one.title}: {label}": seen for one in made for label, seen in one.embeddings.items()},
        holdings=None,
        heard={f"{one.title}: {label}": heard for one in made for label, heard in one.heard.items()},
        reasons=pd.concat([one.reasons.assign(method=one.title + ": " + one.reasons["method"]) for one in made]),
    )


def embeddings(store: Store) -> dict[str, Embedded]:
    """The last embeddings of each method that keeps some, with the first seed for which it has them."""
    from coterie.experiments import config  # noqa: F401  (states are rebuilt of classes that must be imported)

    found: dict[str, Embedded] = {}
    for cell in store.outline.cells:
        if cell.method in found:
            continue
        last, state = checkpoint.load(store.cell(cell)) if checkpoint.rounds(store.cell(cell)) else (0, None)
        rows = None if state is None else _embedded(state["recipe"])
        if rows is not None and 3 < len(rows) <= MOST:
            found[cell.method] = Embedded(rows, _main_labels(store, cell.seed), cell.seed, last)
    return found


def _embedded(state: Any) -> NDArray[np.float64] | None:
    """The `embeddings` that some rule of a recipe holds, one row a client; None where there are none, or none yet."""
    for one in state.values() if isinstance(state, dict) else ():
        rows = getattr(one, "embeddings", None)
        if isinstance(rows, np.ndarray) and rows.ndim == 2 and len(rows) and np.isfinite(rows).all():
            return rows.astype(np.float64)
    return None


def heard(store: Store) -> dict[str, Heard]:
    """Who listened to whom, for each method in which anybody heard anybody else."""
    table = listening(store.folder)
    table = table[table["method"].isin(table[table["client"] != table["heard"]]["method"].unique())]
    if not len(table) or store.outline.clients > MOST_HEARD:
        return {}
    counts = {seed: _label_counts(store, seed) for seed in sorted({int(seed) for seed in table["seed"]})}
    likeness = {seed: in_common(held) for seed, held in counts.items() if held is not None}
    order = dict.fromkeys(cell.method for cell in store.outline.cells)
    found = {method: Heard(table[table["method"] == method], likeness) for method in order if likeness}
    return {method: one for method, one in found.items() if (one.weights["seed"] == min(likeness)).any()}


def in_common(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """What part of their labels each two clients have in common: the sum over labels of the smaller of both shares.

    >>> in_common(np.array([[5, 5, 0], [0, 4, 0], [0, 0, 1]])).tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return np.asarray(np.minimum(shares[:, np.newaxis], shares[np.newaxis]).sum(axis=2))


def _main_labels(store: Store, seed: int) -> NDArray[np.int64] | None:
    """The label of which each client holds most; None where there are none, or the data are not on this machine."""
    held = _label_counts(store, seed)
    return None if held is None else held.argmax(axis=1)


def _label_counts(store: Store, seed: int) -> NDArray[np.int64] | None:
    """Clients × labels; None where there are none, or the data are not on this machine."""
    from coterie.experiments import config, federations
    from coterie.experiments.problems import BadInputError

    try:
        dataset = federations.load(config.load(store.experiment), seed)
        partition = federations.partition_of(store.partition(seed), dataset)
    except (BadInputError, ValueError, OSError):
        return None
    if not np.issubdtype(dataset.y.dtype, np.integer):
        return None
    labels = int(dataset.y.max(initial=0)) + 1
    return np.stack([np.bincount(dataset.y[partition[k]], minlength=labels) for k in range(len(partition))])


def reasons(log: pd.DataFrame) -> pd.DataFrame:
    """Why asks came to nothing: how often each method met each reason."""
    failed = log[log["asked"] & log["why_not"].notna()]
    return (
        failed.groupby(["method", "why_not"], sort=True).size().reset_index(name="count").rename(columns={"why_not": "reason"})
    )


def _cells(rounds: pd.DataFrame, baseline: str, labels: Sequence[str]) -> Cells:
    """Rounds by method and seed, the baseline first; what has no round yet is left out."""
    found = {(str(method), int(str(seed))): one for (method, seed), one in rounds.groupby(["method", "seed"])}
    order = [baseline, *(label for label in labels if label != baseline)]
    cells = {label: {seed: one for (method, seed), one in found.items() if method == label} for label in order}
    return {label: seeds for label, seeds in cells.items() if seeds}


def _unlike(counts: NDArray[np.int64]) -> dict[str, float]:
    """How unlike the labels of clients are, with the first seed."""
    from coterie.data.heterogeneity import entropy, label_shares, mean_js_distance

    shares = label_shares(counts)
    return {
        "entropy of a client's labels": float(entropy(shares).mean()),
        "distance of two clients' labels (JS)": mean_js_distance(shares) if len(shares) <= MOST else float("nan"),
    }


def _measures(store: Store) -> dict[str, float]:
    """How the data lie: sizes, over all seeds."""
    sizes = np.concatenate(list(store.sizes().values()))
    return {
        "samples of the smallest client": float(sizes.min()),
        "samples in the mean": float(sizes.mean()),
        "samples of the largest client": float(sizes.max()),
        "evenness of sizes (Jain)": metrics.jain_index(sizes),
    }
