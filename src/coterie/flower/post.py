"""Sends messages over a grid and waits for the replies, never longer than it may, and notes when each came."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from flwr.common import Message, RecordDict
from flwr.server import Grid

logger = logging.getLogger("coterie.flower")

FIRST_PAUSE, LAST_PAUSE = 0.002, 0.25
"""Seconds between looks into the box: short at first, since replies of a simulation come soon."""


@dataclass(frozen=True, eq=False)
class Came:
    """A reply that came."""

    node: int
    message: Message
    seconds: float
    """Since the messages went out."""

    @property
    def failure(self) -> str | None:
        """Why there is nothing in it; None if there is something."""
        if self.message.has_error():
            return _first_line(str(self.message.error.reason))
        return None if self.message.has_content() else "an empty reply"


def exchange(
    grid: Grid,
    contents: Mapping[int, RecordDict],
    kind: str,
    *,
    group: str = "",
    seconds: float,
    enough: Callable[[Sequence[Came]], bool] | None = None,
) -> list[Came]:
    """Sends each node its content and returns what came within `seconds`, or until `enough` says so.

    Replies are in the order of the nodes given, whatever the order in which they came; of a node that replied twice
    both stand there, the earlier first.
    """
    started = time.monotonic()
    messages = [Message(content, node, kind, group_id=group, ttl=max(seconds, 1.0)) for node, content in contents.items()]
    waiting = {str(number) for number in grid.push_messages(messages) if number} if messages else set()
    came: list[Came] = []
    pause = FIRST_PAUSE
    while waiting:
        new = list(grid.pull_messages(waiting))
        now = time.monotonic() - started
        came += [Came(message.metadata.src_node_id, message, now) for message in new]
        waiting -= {message.metadata.reply_to_message_id for message in new}
        if not waiting or (new and enough is not None and enough(came)) or now >= seconds:
            break
        time.sleep(min(pause, max(seconds - now, 0.0)))
        pause = FIRST_PAUSE if new else min(1.5 * pause, LAST_PAUSE)
    place = {node: n for n, node in enumerate(contents)}
    return sorted((one for one in came if one.node in place), key=lambda one: place[one.node])


def _first_line(reason: str) -> str:
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("Exception ClientAppException", "Traceback"))]
    return (told or lines or ["an error without a reason"])[0]
