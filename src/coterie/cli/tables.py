"""Results as tables that people read on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

UNITS = ("B", "kB", "MB", "GB", "TB")


Row = dict[str, str]
FIRST = (
    "method",
    "accuracy",
    "against",
    "rounds",
    "bytes",
    "worst",
    "last",
    "paid",
    "clients",
    "trained",
    "personal",
    "seconds",
)
"""Columns by how much they matter: those that do not fit on a narrow screen are left out from the end."""
GAP = 3
"""Spaces between columns."""


def of_run(document: Mapping[str, Any], width: int = 160) -> Table:
    """A row a method: how good, how fair, how fast, at what cost, and whether better than the baseline."""
    seeds = len(document["seeds"])
    spread = " ± half a 95 % interval" if seeds > 1 else ""
    what = "Test loss" if _without_accuracy(document) else "Accuracy in %"
    title = f"{what}, mean over {seeds} {'seed' if seeds == 1 else 'seeds'}{spread}"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    rows = [_cells(label, found, document) for label, found in document["methods"].items()]
    titles = _titles(document)
    for name in _fitting(titles, rows, width):
        table.add_column(titles[name], justify="left" if name == "method" else "right", vertical="bottom", overflow="fold")
    for row in rows:
        table.add_row(*(row[name] for name in _fitting(titles, rows, width)))
    return table


def _fitting(titles: Row, rows: Sequence[Row], width: int) -> list[str]:
    """The columns that fit beside each other, in the order of `titles`, and at least the first two."""
    personal = "trained" in titles and any(row["trained"] != "–" for row in rows)
    fitting: list[str] = []
    room = width + GAP - len("  ")
    for name in (*FIRST[:3], "clients", *FIRST[3:]) if personal else FIRST:
        if name in fitting or name not in titles or all(row[name] == "–" for row in rows):
            continue
        room -= GAP + max(len(line) for text in (titles[name], *(row[name] for row in rows)) for line in text.split("\n"))
        if room < 0 and len(fitting) > 1:
            break
        fitting.append(name)
    return [name for name in titles if name in fitting]


def _titles(document: Mapping[str, Any]) -> Row:
    """What stands over each column, in two lines."""
    target = document["target"]
    against = {"against": f"against\n{document['baseline']}"}
    if _without_accuracy(document):
        return {
            "method": "\nmethod",
            "accuracy": "test\nloss",
            **against,
            "bytes": "bytes\nin all",
            "seconds": "seconds\na round",
        }
    reached = {"rounds": f"rounds\nto {target:g}", "paid": f"bytes\nto {target:g}"} if target is not None else {}
    return {
        "method": "\nmethod",
        "accuracy": "last fifth\nof rounds",
        **against,
        "last": "last\nround",
        "clients": "clients\nin the mean",
        "trained": "clients after\nown training",
        "personal": "clients' own\nmodels",
        "worst": "clients,\nworst tenth",
        **reached,
        "bytes": "bytes\nin all",
        "seconds": "seconds\na round",
    }


def happened(document: Mapping[str, Any]) -> str:
    """What the world really did, in a line: so that a switch that does nothing cannot go unnoticed."""
    found = list(document["methods"].values())
    asked, lost, rejected = (sum(one[name] for one in found) for name in ("asked", "lost", "rejected"))
    there = [one["available_share"] for one in found if one["available_share"] is not None]
    parts = [f"{sum(there) / len(there):.1%} of the clients could be reached in a round"] if there else []
    if asked:
        parts += [f"{lost / asked:.1%} of the asks to train were lost", f"{rejected / asked:.1%} of the replies refused"]
    return f"What happened: {', '.join(parts)}."


def listing(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> Table:
    """Rows of plain values; `columns` gives titles."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in columns.values():
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(*(_word(row[name]) for name in columns))
    return table


def _cells(label: str, found: Mapping[str, Any], document: Mapping[str, Any]) -> Row:
    """One row, by the names of its columns."""
    target, seconds = document["target"], found["seconds_per_round"]
    row = {
        "method": label,
        "bytes": in_bytes(sum(found[name] for name in ("bytes_up", "bytes_down", "bytes_between"))),
        "seconds": "–" if seconds is None else f"{seconds:.3f}",
    }
    if _without_accuracy(document):
        return row | _losses(label, found, document)
    if target is not None:
        row |= {"rounds": _reached(found["rounds_to_target"], "{:.0f}".format)}
        row |= {"paid": _reached(found["bytes_to_target"], in_bytes)}
    return row | {
        "accuracy": _percent(found["last_fifth_accuracy"]),
        "against": _difference(document["paired"].get("last_fifth_accuracy", {}).get(label)),
        "last": _percent(found["final_accuracy"]),
        "clients": _percent(found["client_accuracy"]),
        "trained": _percent(found["client_accuracy_trained"]),
        "personal": _percent(found["client_accuracy_personal"]),
        "worst": _percent(found["worst_decile"]),
    }


def _without_accuracy(document: Mapping[str, Any]) -> bool:
    return all(one["final_accuracy"]["mean"] is None for one in document["methods"].values())


def _losses(label: str, found: Mapping[str, Any], document: Mapping[str, Any]) -> Row:
    """What a regression has in place of accuracy."""
    paired = document["paired"].get("loss", {}).get(label)
    mean, low = found["loss"]["mean"], found["loss"]["low"]
    spread = "" if low is None else f" ± {mean - low:.3g}"
    against = "–" if paired is None or paired["difference"]["mean"] is None else f"{paired['difference']['mean']:+.3g}"
    return {"accuracy": "–" if mean is None else f"{mean:.4g}{spread}", "against": against}


def in_bytes(count: float) -> str:
    """Bytes in a unit that fits.

    >>> in_bytes(999), in_bytes(1_250_000)
    ('999 B', '1.2 MB')
    """
    unit, *larger = UNITS
    while count >= 1000 and larger:
        count, (unit, *larger) = count / 1000, larger
    return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"


def _percent(summary: Mapping[str, Any]) -> str:
    if summary["mean"] is None:
        return "–"
    spread = "" if summary["low"] is None else f" ± {100 * (summary['high'] - summary['mean']):.1f}"
    return f"{100 * summary['mean']:.1f}{spread}"


def _difference(paired: Mapping[str, Any] | None) -> str:
    if paired is None or paired["difference"]["mean"] is None:
        return "–"
    p = "" if paired["p_holm"] is None else f" (p {_p(paired['p_holm'])})"
    return f"{100 * paired['difference']['mean']:+.1f}{p}"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def _reached(summary: Mapping[str, Any], spoken: Any) -> str:
    there = [value for value in summary["per_seed"] if value is not None]
    if not there:
        return "never"
    mean = spoken(sum(there) / len(there))
    return mean if len(there) == len(summary["per_seed"]) else f"{mean} ({len(there)} of {len(summary['per_seed'])})"


def _word(value: Any) -> str:
    return "–" if value is None else "yes" if value is True else "no" if value is False else str(value)
