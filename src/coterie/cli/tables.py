"""Results as tables that people read on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

UNITS = ("B", "kB", "MB", "GB", "TB")


WIDE = 150
"""Columns of a screen on which the whole table fits."""


def of_run(document: Mapping[str, Any], width: int = WIDE) -> Table:
    """A row a method: how good, how fair, how fast, at what cost, and whether better than the baseline."""
    seeds = len(document["seeds"])
    spread = ", ± half of its 95 % interval" if seeds > 1 else ""
    title = f"Accuracy in %: mean over {seeds} {'seed' if seeds == 1 else 'seeds'}{spread}"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    rows = {label: _cells(label, found, document, width) for label, found in document["methods"].items()}
    for name in next(iter(rows.values())):
        table.add_column(name, justify="left" if name == "method" else "right", no_wrap=True)
    for row in rows.values():
        table.add_row(*row.values())
    return table


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


def _cells(label: str, found: Mapping[str, Any], document: Mapping[str, Any], width: int) -> dict[str, str]:
    """One row, by the titles of its columns; some columns are for wide screens only."""
    difference = document["paired"].get("last_fifth_accuracy", {}).get(label)
    target, wide = document["target"], width >= WIDE
    if all(one["final_accuracy"]["mean"] is None for one in document["methods"].values()):
        return _losses(label, found, document)
    cells = {"method": label, "last fifth": _percent(found["last_fifth_accuracy"])}
    cells |= {f"against {document['baseline']}": _difference(difference)}
    if wide:
        cells |= {"last round": _percent(found["final_accuracy"]), "clients": _percent(found["client_accuracy"])}
    cells |= {"worst tenth": _percent(found["worst_decile"])}
    if target is not None:
        cells |= {f"rounds to {target:g}": _reached(found["rounds_to_target"], "{:.0f}".format)}
    if target is not None and wide:
        cells |= {f"bytes to {target:g}": _reached(found["bytes_to_target"], in_bytes)}
    cells |= {"bytes": in_bytes(sum(found[name] for name in ("bytes_up", "bytes_down", "bytes_between")))}
    seconds = found["seconds_per_round"]
    return cells | ({"s/round": "–" if seconds is None else f"{seconds:.3f}"} if wide else {})


def _losses(label: str, found: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, str]:
    """The row of a regression, where there is no accuracy."""
    paired = document["paired"].get("loss", {}).get(label)
    mean, low = found["loss"]["mean"], found["loss"]["low"]
    spread = "" if low is None else f" ± {mean - low:.3g}"
    against = "–" if paired is None or paired["difference"]["mean"] is None else f"{paired['difference']['mean']:+.3g}"
    total = in_bytes(sum(found[name] for name in ("bytes_up", "bytes_down", "bytes_between")))
    shown = "–" if mean is None else f"{mean:.4g}{spread}"
    return {"method": label, "test loss": shown, f"against {document['baseline']}": against, "bytes": total}


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
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def _reached(summary: Mapping[str, Any], spoken: Any) -> str:
    there = [value for value in summary["per_seed"] if value is not None]
    if not there:
        return "never"
    mean = spoken(sum(there) / len(there))
    return mean if len(there) == len(summary["per_seed"]) else f"{mean} ({len(there)} of {len(summary['per_seed'])})"


def _word(value: Any) -> str:
    return "–" if value is None else "yes" if value is True else "no" if value is False else str(value)
