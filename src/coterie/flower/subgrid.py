"""A grid on which only some nodes are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from flwr.common import Message
from flwr.server import Grid


class SubGrid(Grid):  # type: ignore[misc] # flwr is an extra
    """Shows some of a grid's nodes and leaves everything else to it."""

    def __init__(self, grid: Grid, nodes: Sequence[int]) -> None:
        self.grid, self.nodes = grid, tuple(nodes)

    def get_node_ids(self) -> Iterable[int]:
        """The nodes that are shown."""
        return list(self.nodes)

    def get_nodes(self) -> Iterable[Any]:
        """What is known of them."""
        return [one for one in self.grid.get_nodes() if one.node_id in self.nodes]

    def set_run(self, *args: Any, **named: Any) -> None:
        """Of the grid behind."""
        self.grid.set_run(*args, **named)

    @property
    def run(self) -> Any:
        """Of the grid behind."""
        return self.grid.run

    def create_message(self, *args: Any, **named: Any) -> Message:
        """By the grid behind."""
        return self.grid.create_message(*args, **named)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """By the grid behind."""
        numbers: Iterable[str] = self.grid.push_messages(messages)
        return numbers

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """By the grid behind."""
        replies: Iterable[Message] = self.grid.pull_messages(message_ids)
        return replies

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        """By the grid behind."""
        replies: Iterable[Message] = self.grid.send_and_receive(messages, timeout=timeout)
        return replies
