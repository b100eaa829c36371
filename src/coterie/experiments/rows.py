"""What a run writes down: records as rows of three tables with a fixed meaning.

`rounds` has one row a method, seed and round; `decisions` one row for each candidate of each round; `timings`
holds the real seconds, which are the only thing that differs between two runs of the same experiment. Where there is no
server, `listening` has one row for each pair of whom one heard the other, in the rounds that are evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from coterie.record import Record
from coterie.roster import Ids

TABLES = ("rounds", "decisions", "timings")
SOME = ("listening",)
"""Tables that only some methods fill; where they are empty there is no file."""
LOUDEST = 128
"""In `listening` stand so many of those whom a client hears, the ones with most weight."""
IDS = pa.list_(pa.int32())
NUMBERS = pa.list_(pa.float64())
NAMES = pa.list_(pa.string())

ROUNDS: dict[str, pa.DataType] = {
    "accuracy": pa.float64(),
    "loss": pa.float64(),
    "available": pa.int32(),
    "chosen": IDS,
    "chosen_keys": NAMES,
    "answered": IDS,
    "used": IDS,
    "rejected": pa.int32(),
    "lost": pa.int32(),
    "bytes_up": pa.int64(),
    "bytes_down": pa.int64(),
    "bytes_between": pa.int64(),
    "evaluations": pa.int64(),
    "messages": pa.int64(),
    "epsilon": pa.float64(),
    "simulated_seconds": pa.float64(),
    "coalitions": IDS,
    "leaders": IDS,
}
DECISIONS: dict[str, pa.DataType] = {
    "client": pa.int32(),
    "key": pa.string(),
    "available": pa.bool_(),
    "score": pa.float64(),
    "asked": pa.bool_(),
    "answered": pa.bool_(),
    "used": pa.bool_(),
    "why_not": pa.string(),
}
TIMINGS: dict[str, pa.DataType] = {"seconds": pa.float64()}
LISTENING: dict[str, pa.DataType] = {"client": pa.int32(), "heard": pa.int32(), "weight": pa.float32()}
ADDRESS: dict[str, pa.DataType] = {"method": pa.string(), "seed": pa.int64(), "round": pa.int32()}
SCHEMAS = {"rounds": ROUNDS, "decisions": DECISIONS, "timings": TIMINGS, "listening": LISTENING}

Row = dict[str, Any]


def round_row(record: Record, keys: NDArray[np.str_]) -> Row:
    """One row of `rounds`: base columns, then bytes by kind, what replies said, and scores by client."""
    meter, scores, groups = record.meter, record.scores, record.coalitions
    row: Row = {
        "accuracy": _number(record.accuracy),
        "loss": _number(record.loss),
        "available": len(record.available),
        "chosen": record.asked,
        "chosen_keys": keys[record.asked].tolist(),
        "answered": record.answered,
        "used": record.used,
        "rejected": len(record.rejected),
        "lost": len(record.lost),
        "bytes_up": meter.bytes_up,
        "bytes_down": meter.bytes_down,
        "bytes_between": meter.bytes_between,
        "evaluations": meter.evaluations,
        "messages": meter.messages,
        "epsilon": meter.epsilon,
        "simulated_seconds": record.duration,
        "coalitions": None if groups is None else groups.labels,
        "leaders": None if groups is None or groups.leaders is None else groups.leaders,
    }
    for way in ("up", "down", "between"):
        row |= {f"{way}_{kind}": count for kind, count in getattr(meter, way).items()}
    row |= {f"reply_{name}": values for name, values in record.facts.items()}
    return row | {f"client_{name}": values for name, values in (scores.clients if scores else {}).items()}


def decision_rows(record: Record, keys: NDArray[np.str_]) -> Row:
    """The columns of one round of `decisions`: everyone who could be chosen, was looked at, or was asked."""
    who = np.unique(np.concatenate([record.available, record.why.candidates, record.asked])).astype(np.intp)
    columns: Row = {"client": who, "key": keys[who]}
    for name in ("available", "asked", "answered", "used"):
        columns[name] = np.isin(who, getattr(record, name))
    for name, values in record.why.columns.items():
        column = np.full(len(who), np.nan)
        column[np.searchsorted(who, record.why.candidates)] = values
        columns["score" if name == "score" else f"score_{name}"] = column
    return columns | {"why_not": _why_not(record, who, columns)}


def listening_rows(record: Record) -> Row:
    """The columns of one round of `listening`; empty ones where there is a server, or nothing was evaluated."""
    if record.listening is None or record.scores is None:
        return {name: np.empty(0, kind.to_pandas_dtype()) for name, kind in LISTENING.items()}
    cells = record.listening.tocoo()
    order = np.lexsort((cells.col, -cells.data, cells.row))
    rows, starts = cells.row[order], np.concatenate([[0], np.cumsum(np.bincount(cells.row, minlength=cells.shape[0]))])
    loud = np.sort(order[np.arange(len(order)) - starts[rows] < LOUDEST])
    return {"client": cells.row[loud], "heard": cells.col[loud], "weight": cells.data[loud].astype(np.float32)}


def table(name: str, method: str, seed: int, rounds: Sequence[int], rows: Iterable[Row]) -> pa.Table:
    """Rows of one cell as an Arrow table. A row of `decisions` is a column each, one value a candidate."""
    rows = list(rows)
    known = SCHEMAS[name]
    extra = sorted({column for row in rows for column in row} - set(known))
    tall = name in ("decisions", "listening")
    lengths = [len(row["client"]) if tall else 1 for row in rows]
    gather = _stacked if tall else _listed
    columns: dict[str, Any] = {
        "method": pa.array([method] * sum(lengths), ADDRESS["method"]),
        "seed": pa.array(np.full(sum(lengths), seed), ADDRESS["seed"]),
        "round": pa.array(np.repeat(np.asarray(rounds, np.int32), lengths), ADDRESS["round"]),
    }
    for column in [*known, *extra]:
        kind = known.get(column) or type_of(name, column)
        columns[column] = gather([row.get(column) for row in rows], lengths, kind)
    return pa.table(columns)


def type_of(name: str, column: str) -> pa.DataType:
    """The type of a column that not every method fills."""
    if name == "rounds":
        return NUMBERS if column.startswith(("reply_", "client_")) else pa.int64()
    return pa.float64()


def ordered(name: str, columns: Iterable[str]) -> list[str]:
    """Columns in the order of the finished table: known ones first, then the others by name."""
    known = [*ADDRESS, *SCHEMAS[name]]
    return [*known, *sorted(set(columns) - set(known))]


def _why_not(record: Record, who: Ids, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.object_]:
    reasons = np.full(len(who), None, dtype=object)
    reasons[columns["answered"] & ~columns["used"]] = "no weight in the average"
    reasons[~columns["asked"]] = "not chosen"
    reasons[~columns["available"]] = "absent"
    for kind, named in (("doubted", record.doubted), ("rejected", record.rejected), ("lost", record.lost)):
        for client, reason in named.items():
            reasons[who == client] = f"{kind}: {reason}"
    return reasons


def _listed(values: list[Any], lengths: list[int], kind: pa.DataType) -> pa.Array:
    del lengths
    return pa.array(values, kind, from_pandas=False)


def _stacked(values: list[ArrayLike | None], lengths: list[int], kind: pa.DataType) -> pa.Array:
    if kind == pa.float64():
        filled = [np.full(n, np.nan) if value is None else np.asarray(value) for value, n in zip(values, lengths, strict=True)]
        return pa.array(np.concatenate([np.empty(0), *filled]), kind, from_pandas=True)
    return pa.array(np.concatenate([np.asarray(value) for value in values]) if values else [], kind)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
