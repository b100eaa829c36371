"""Who is behind a node: clients are known by their key, nodes by numbers that change."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flwr.common import ArrayRecord, Context, Message
from flwr.common.constant import ErrorCode
from flwr.server import Grid

from coterie.flower.post import FIRST_PAUSE, LAST_PAUSE, Came, logger
from coterie.flower.words import models_record, told
from coterie.roster import natural

HELLO = "query.coterie_hello"
CONFIGURED = ("partition-id", "client-key")
"""Entries of a node's configuration that say who it is, the first that is there."""
TRIES = 3
"""Times that a node may answer without sense before it is left alone."""
AGAIN = 600.0
"""Seconds after which a node that does not answer is asked again."""
GLANCE = 2.0
"""Seconds that a round waits for what new nodes say; who takes longer joins a later round."""
LOST = (ErrorCode.MESSAGE_UNAVAILABLE, ErrorCode.REPLY_MESSAGE_UNAVAILABLE, ErrorCode.NODE_UNAVAILABLE)
"""Errors that say nothing of the node's app."""
SETTLED = 5.0
"""Seconds without anybody new, and without a node that still thinks, after which all are taken to be there."""
FIX = "its ClientApp must be made by coterie.flower.client_app, or wrapped: app = coterie.flower.answering(app)"


def key_of(context: Context) -> str:
    """A client's key as its own node is configured; empty where it is not."""
    return next((str(context.node_config[name]) for name in CONFIGURED if name in context.node_config), "")


@dataclass(frozen=True)
class Letter:
    """A question that is on its way."""

    number: str
    sent: float


@dataclass(eq=False)
class Nodes:
    """The nodes of a grid and the clients behind them. Each new node is asked once."""

    grid: Grid
    asked: dict[int, dict[str, Any]] = field(default_factory=dict)
    """What each node said of itself; empty for one that could not be understood."""
    misses: dict[int, int] = field(default_factory=dict)
    """How often a node has answered without sense."""
    _letters: dict[int, Letter] = field(default_factory=dict)
    """To nodes that were asked and have not answered yet."""
    _waiting: dict[str, int] = field(default_factory=dict)

    def here(self, model: ArrayRecord | None = None) -> dict[str, int]:
        """The nodes that can be reached now, by the key of the client behind each, keys in order.

        Of two nodes with the same key the one that was known first counts; the other is passed over, and that is logged.
        """
        visible = sorted(int(node) for node in self.grid.get_node_ids())
        self._letters = {node: letter for node, letter in self._letters.items() if node in visible}
        self._ask([node for node in visible if node not in self.asked], model)
        self._hear()
        found: dict[str, int] = {}
        for node in [node for node in self.asked if node in set(visible)]:
            key = self.asked[node].get("key", "")
            if not key:
                continue
            if key in found:
                self._twice(key, node)
            else:
                found[key] = node
        return dict(sorted(found.items(), key=lambda one: natural(one[0])))

    def wait_for(self, count: int | None, seconds: float, model: ArrayRecord | None = None) -> dict[str, int]:
        """Waits until so many clients are there, or until nobody new has come for a while; TimeoutError after `seconds`."""
        started, last, since = time.monotonic(), -1, time.monotonic()
        while True:
            found, now = self.here(model), time.monotonic()
            if len(found) != last:
                logger.info("clients that are there: %d%s", len(found), "" if count is None else f" of {count}")
                last = len(found)
                since = now
            if self._letters:
                since = now
            if (count is not None and last >= count) or (count is None and last and now - since >= SETTLED):
                return found
            if now - started >= seconds:
                if count is None and found:
                    return found
                raise TimeoutError(self._missing(last, count, seconds))
            time.sleep(min(0.2, seconds))

    def _missing(self, came: int, count: int | None, seconds: float) -> str:
        """Who has not come, and why perhaps."""
        wanted = "no client" if count is None else f"{came} of {count} clients"
        strange = sum(1 for node in self.misses if not self.asked.get(node))
        hints = [
            f"; {len(self._letters)} nodes are there and have not answered yet" if self._letters else "",
            f"; {strange} nodes could not be understood: {FIX}" if strange else "",
        ]
        return f"flower: {wanted} came within {seconds:g} seconds{''.join(hints)}"

    def about(self, node: int) -> Mapping[str, Any]:
        """What a node said of itself."""
        return self.asked[node]

    def _ask(self, nodes: list[int], model: ArrayRecord | None) -> None:
        """Asks nodes that have no question yet, or one so old that it is lost."""
        now = time.monotonic()
        new = [node for node in nodes if node not in self._letters or now - self._letters[node].sent > AGAIN]
        if not new:
            return
        content = models_record([] if model is None else [model], {"round": 0})
        messages = [Message(content, node, HELLO, ttl=AGAIN) for node in new]
        for node, number in zip(new, self.grid.push_messages(messages), strict=True):
            self._letters[node] = Letter(str(number), now)

    def _hear(self) -> None:
        """Takes what nodes have answered, and waits a little for those that were asked just now."""
        pause = FIRST_PAUSE
        while self._letters:
            for message in self.grid.pull_messages([letter.number for letter in self._letters.values()]):
                self._listen(message)
            left = max((letter.sent for letter in self._letters.values()), default=0.0) + GLANCE - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(pause, left))
            pause = min(1.5 * pause, LAST_PAUSE)

    def _listen(self, message: Message) -> None:
        """Notes what a node says of itself; who answers without sense is asked again a few times."""
        node = message.metadata.src_node_id
        if self._letters.pop(node, None) is None:
            return
        if message.has_error() and message.error.code in LOST:
            return
        failure = Came(node, message, 0.0).failure
        said = {} if failure else self._said(node, message.content)
        if said.get("key"):
            self.asked[node] = said
            return
        self.misses[node] = self.misses.get(node, 0) + 1
        if failure is None or self.misses[node] >= TRIES:
            self.asked[node] = {}
        logger.warning("node %d does not say who it is (%s): %s", node, failure or "no key", FIX)

    def _said(self, node: int, content: Any) -> dict[str, Any]:
        try:
            said = told(content)
        except ValueError:
            return {}
        said["key"] = str(said.get("key") or self._public_key(node))
        if not said["key"]:
            logger.warning(
                "node %d has no key of its own: start it with --node-config 'client-key=\"NAME\"', or with authentication", node
            )
        return said

    def _public_key(self, node: int) -> str:
        """The fingerprint of the key by which a node authenticates itself; newer Flowers tell it."""
        nodes = getattr(self.grid, "get_nodes", lambda: ())()
        keys = [bytes(getattr(one, "public_key", b"")) for one in nodes if one.node_id == node]
        return hashlib.sha256(keys[0]).hexdigest()[:16] if keys and keys[0] else ""

    def _twice(self, key: str, node: int) -> None:
        if self._waiting.get(key) != node:
            self._waiting[key] = node
            logger.warning("client %s is there twice; node %d is passed over", key, node)
