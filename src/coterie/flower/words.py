"""The words of messages between server and clients: what is in them, and how it is written and read.

A message holds one record named `coterie` with plain values, and one record of arrays for each model. Nothing is
pickled: a backbone travels as its name and settings, so a client trains only in ways that are installed with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from flwr.common import Array, ArrayRecord, ConfigRecord, RecordDict
from jaxtyping import Float32
from numpy.typing import NDArray

from coterie.federation import Layout
from coterie.report import Report
from coterie.rooms import rules
from coterie.rules import Backbone
from coterie.settings import read

Flat = Float32[np.ndarray, " dim"]

OURS = "coterie"
"""The name of the record with everything that is ours; Flower's strategies never look into it."""
ARRAYS = "arrays"
"""The name of the record with a model, as Flower's own strategies call it; further ones are `arrays.1` and so on."""
BESIDE = "coterie.beside"
"""The array with what a backbone shares beside the model, behind the model's own arrays."""
ANSWERS = "answers"
SAMPLES = "num-examples"


def models_record(models: Sequence[ArrayRecord], told: Mapping[str, Any]) -> RecordDict:
    """A message with some models and plain values."""
    named = {ARRAYS if n == 0 else f"{ARRAYS}.{n}": model for n, model in enumerate(models)}
    return RecordDict({**named, OURS: ConfigRecord(dict(told))})


def models_in(content: RecordDict) -> list[ArrayRecord]:
    """The models of a message, in order."""
    names = [ARRAYS, *(f"{ARRAYS}.{n}" for n in range(1, len(content)))]
    return [content[name] for name in names if name in content]


def told(content: RecordDict) -> dict[str, Any]:
    """The plain values of a message; ValueError where it has none."""
    record = content.get(OURS)
    if not isinstance(record, ConfigRecord):
        raise ValueError(f"message: the record '{OURS}' is missing; both sides need coterie.flower")
    return dict(record)


def answers_record(answers: NDArray[Any], **said: Any) -> RecordDict:
    """A reply to a question."""
    return RecordDict({ANSWERS: ArrayRecord({ANSWERS: Array(np.ascontiguousarray(answers))}), OURS: ConfigRecord(said)})


def answers_in(content: RecordDict, shape: tuple[int, ...]) -> NDArray[Any]:
    """The answers of a reply; ValueError where they are not numbers of this shape."""
    record = content.get(ANSWERS)
    if not isinstance(record, ArrayRecord) or ANSWERS not in record:
        raise ValueError(f"answer: the record '{ANSWERS}' is missing")
    answers = record[ANSWERS].numpy()
    if answers.shape != shape or answers.dtype.kind not in "fiu":
        raise ValueError(f"answer: {answers.dtype} numbers of shape {answers.shape}, not of {shape}")
    return np.asarray(answers)


def record_of(model: Flat, layout: Layout) -> ArrayRecord:
    """A flat model as named arrays, in the layout's order, and what is shared beside it."""
    beside = {BESIDE: model[layout.size :]} if len(model) > layout.size else {}
    named = {**layout.split(model), **beside}
    return ArrayRecord({name: Array(np.ascontiguousarray(array)) for name, array in named.items()})


def flat_of(record: ArrayRecord) -> NDArray[Any]:
    """Named arrays, in their order, as one vector; of whatever type they are."""
    parts = [array.numpy().ravel() for array in record.values()]
    return np.concatenate(parts) if parts else np.empty(0, np.float32)


def layout_in(record: ArrayRecord) -> Layout:
    """What the coordinates of named arrays mean."""
    return Layout(tuple(record), tuple(tuple(array.shape) for array in record.values()))


def backbone_text(backbone: Backbone) -> str:
    """A backbone as its name and settings.

    >>> from coterie.backbones import SGD
    >>> from coterie.federation import Steps
    >>> backbone_of(backbone_text(SGD(Steps(lr=0.5)))).steps.lr
    0.5
    """
    return json.dumps(_plain(backbone))


def backbone_of(text: str) -> Backbone:
    """The backbone that a text names; ValueError where this side does not know it."""
    made: Backbone = read(Backbone, json.loads(text))
    return made


def report_text(report: Report) -> str:
    """A report as its settings; infinity as a word, which JSON lacks.

    >>> from coterie.report import Bounded
    >>> report_of(report_text(Report((Bounded("size", most=9.0, epsilon=0.5),), occasion=3))).numbers[0].epsilon
    0.5
    """
    return json.dumps(_plain(report))


def report_of(text: str) -> Report:
    """The report that a text names."""
    made: Report = read(Report, json.loads(text))
    return made


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if not is_dataclass(value):
        return value
    table = {one.name: _plain(getattr(value, one.name)) for one in fields(value) if one.init}
    return {"name": _name(value), **table} if isinstance(value, Backbone) else table


def _name(backbone: Backbone) -> str:
    known = {kind: name for name, kind in rules("backbones").items()}
    if type(backbone) not in known:
        raise ValueError(
            f"backbone: clients cannot know {type(backbone).__name__}; offer it as an entry point of 'coterie.backbones'"
            f" where they run, or use one of {', '.join(sorted(known.values()))}"
        )
    return known[type(backbone)]
