"""A grid of Flower in this process, that calls real client apps with real contexts at once."""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import flwr.common as fl
from flwr.client import ClientApp
from flwr.server import Grid

with suppress(ImportError):  # from 1.38 a message must know whose it is
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1

try:
    from flwr.app import Error
except ImportError:
    from flwr.common import Error

Fault = Callable[[fl.Message, Callable[[], fl.Message]], list[fl.Message]]
"""From a message, and what would reply to it, to the replies that come."""


def good(message: fl.Message, reply: Callable[[], fl.Message]) -> list[fl.Message]:
    return [reply()]


@dataclass
class Near(Grid):
    app: ClientApp
    configs: Mapping[int, Mapping[str, Any]]
    """The configuration of each node, by its id."""
    faults: dict[int, Fault] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    """Nodes that cannot be seen now."""
    dead: set[int] = field(default_factory=set)
    """Nodes that are seen and do not answer."""
    slow: dict[int, float] = field(default_factory=dict)
    """Seconds after which the replies of some nodes come."""
    backwards: bool = False
    """Whether replies come in the opposite order."""
    log: list[fl.Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.configs, known = {}, self.configs
        self.contexts: dict[int, fl.Context] = {}
        self.numbers, self.box, self.ready = count(1), {}, {}
        for node, config in known.items():
            self.join(node, config)

    def join(self, node: int, config: Mapping[str, Any]) -> None:
        """Another node comes."""
        self.configs = {**self.configs, node: config}
        self.contexts[node] = fl.Context(run_id=1, node_id=node, node_config=dict(config), state=fl.RecordDict(), run_config={})

    def set_run(self, *args: Any) -> None: ...

    @property
    def run(self) -> Any:
        return None

    def create_message(self, content: Any, message_type: str, dst_node_id: int, group_id: str, ttl: Any = None) -> fl.Message:
        return fl.Message(content, dst_node_id, message_type, group_id=group_id, ttl=ttl)

    def get_node_ids(self) -> Iterable[int]:
        return [node for node in self.configs if node not in self.gone]

    def push_messages(self, messages: Iterable[fl.Message]) -> Iterable[str]:
        numbers = []
        for message in messages:
            number = str(next(self.numbers))
            message.metadata.__dict__["_message_id"] = number
            self.log.append(message)
            node = message.metadata.dst_node_id
            if node not in self.dead | self.gone:
                fault = self.faults.get(node, good)
                self.box[number] = fault(message, lambda m=message: self._reply(m))
                self.ready[number] = time.monotonic() + self.slow.get(node, 0.0)
            numbers.append(number)
        return numbers

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[fl.Message]:
        there = [number for number in sorted(message_ids, key=int) if self.ready.get(number, 0.0) <= time.monotonic()]
        found = [reply for number in there for reply in self.box.pop(number, [])]
        return found[::-1] if self.backwards else found

    def send_and_receive(self, messages: Iterable[fl.Message], *, timeout: float | None = None) -> Iterable[fl.Message]:
        return self.pull_messages(self.push_messages(messages))

    def kinds(self, kind: str) -> list[fl.Message]:
        return [message for message in self.log if message.metadata.message_type == kind]

    def _reply(self, message: fl.Message) -> fl.Message:
        try:
            return self.app(message, self.contexts[message.metadata.dst_node_id])
        except Exception as error:
            return fl.Message(Error(code=2, reason=f"{type(error).__name__}: {error}"), reply_to=message)
