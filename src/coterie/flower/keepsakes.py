"""What nodes keep between rounds, fetched, put back or cleared: for Flower's own simulation, whose nodes are all ours.

A node of somebody else gives none of it away: only apps made with `client_app(…, portable=True)` know these words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from flwr.common import Array, ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.server import Grid
from numpy.typing import NDArray

from coterie.flower.post import exchange
from coterie.flower.words import OURS, told

KEPT, PERSONAL, LAST = "coterie.kept", "coterie.personal", "coterie.last"
"""What a backbone keeps at a client, the client's personal model, and the last that it trained, in its node's state."""
ALL = (KEPT, PERSONAL, LAST)
ROLE = "coterie.role"
"""What a node was told to be."""
FETCH, PUT, BEGIN = "coterie_keepsakes", "coterie_keepsakes_back", "coterie_begin"

Drawers = dict[str, dict[str, NDArray[Any]]]
"""By record, the arrays in it."""


def fetch(grid: Grid, nodes: Mapping[str, int], seconds: float, names: Sequence[str] = ALL) -> dict[str, Drawers]:
    """What nodes keep, by client; TimeoutError if one does not say, since half of it is of no use."""
    contents = {node: RecordDict({OURS: ConfigRecord({"names": list(names)})}) for node in nodes.values()}
    came = exchange(grid, contents, f"query.{FETCH}", seconds=seconds)
    said = {one.node: one.message.content for one in came if not one.failure}
    _check(nodes, said, "does not say what it keeps")
    return {
        key: {
            name: {part: np.array(array.numpy()) for part, array in record.items()}
            for name, record in said[node].items()
            if name in ALL
        }
        for key, node in nodes.items()
    }


def put(grid: Grid, nodes: Mapping[str, int], kept: Mapping[str, Drawers], seconds: float) -> None:
    """Gives nodes back what they kept."""
    contents = {
        nodes[key]: RecordDict({OURS: ConfigRecord({}), **{name: _record(arrays) for name, arrays in drawers.items()}})
        for key, drawers in kept.items()
    }
    came = exchange(grid, contents, f"query.{PUT}", seconds=seconds)
    _check(
        {key: nodes[key] for key in kept}, {one.node: one for one in came if not one.failure}, "does not take back what it kept"
    )


def begin(grid: Grid, nodes: Iterable[int], role: Mapping[str, Any], seconds: float) -> None:
    """Has nodes forget what they keep and be somebody new."""
    content = RecordDict({OURS: ConfigRecord(dict(role))})
    some = {str(node): node for node in nodes}
    came = exchange(grid, dict.fromkeys(some.values(), content), f"query.{BEGIN}", seconds=seconds)
    _check(some, {one.node: one for one in came if not one.failure}, "does not begin anew")


def anew(message: Message, context: Context) -> Message:
    """A client's answer to `begin`."""
    for name in ALL:
        context.state.pop(name, None)
    context.state[ROLE] = message.content[OURS]
    return Message(RecordDict({OURS: ConfigRecord({})}), reply_to=message)


def give(message: Message, context: Context) -> Message:
    """A client's answer to `fetch`."""
    found = {name: context.state[name] for name in told(message.content)["names"] if name in context.state}
    return Message(RecordDict({OURS: ConfigRecord({}), **found}), reply_to=message)


def take(message: Message, context: Context) -> Message:
    """A client's answer to `put`."""
    for name in ALL:
        if name in message.content:
            context.state[name] = message.content[name]
    return Message(RecordDict({OURS: ConfigRecord({})}), reply_to=message)


def _record(arrays: Mapping[str, Any]) -> ArrayRecord:
    return ArrayRecord({part: Array(np.ascontiguousarray(array)) for part, array in arrays.items()})


def _check(nodes: Mapping[str, int], said: Mapping[int, Any], what: str) -> None:
    silent = [key for key, node in nodes.items() if node not in said]
    if silent:
        raise TimeoutError(f"state: client {silent[0]} {what}")
