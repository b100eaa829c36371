"""Who is behind a node: clients are known by their key, nodes by numbers that change."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flwr.common import ArrayRecord, Context
from flwr.server import Grid

from coterie.flower.post import exchange, logger
from coterie.flower.words import models_record, told
from coterie.roster import natural

HELLO = "query.coterie_hello"
CONFIGURED = ("partition-id", "client-key")
"""Entries of a node's configuration that say who it is, the first that is there."""
TRIES = 3
"""Times that a node is asked in vain before it is left alone."""
FIX = "its ClientApp must be made by coterie.flower.client_app, or wrapped: app = coterie.flower.answering(app)"


def key_of(context: Context) -> str:
    """A client's key as its own node is configured; empty where it is not."""
    return next((str(context.node_config[name]) for name in CONFIGURED if name in context.node_config), "")


@dataclass(eq=False)
class Nodes:
    """The nodes of a grid and the clients behind them. Each new node is asked once."""

    grid: Grid
    patience: float
    """Seconds to wait for the answers of new nodes."""
    asked: dict[int, dict[str, Any]] = field(default_factory=dict)
    """What each node said of itself; empty for one that could not be understood."""
    misses: dict[int, int] = field(default_factory=dict)
    """How often a node was asked in vain."""
    _waiting: dict[str, int] = field(default_factory=dict)

    def here(self, model: ArrayRecord | None = None) -> dict[str, int]:
        """The nodes that can be reached now, by the key of the client behind each, keys in order.

        Of two nodes with the same key the one that was known first counts; the other is passed over, and that is logged.
        """
        visible = sorted(int(node) for node in self.grid.get_node_ids())
        self._ask([node for node in visible if node not in self.asked], model)
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

    def wait_for(self, count: int, seconds: float, model: ArrayRecord | None = None) -> dict[str, int]:
        """Waits until so many clients are there; TimeoutError after `seconds`, saying who is."""
        ends, last = time.monotonic() + seconds, -1
        while len(found := self.here(model)) < count:
            if len(found) != last:
                logger.info("waiting for clients: %d of %d are there", len(found), count)
            last = len(found)
            if time.monotonic() >= ends:
                silent = sum(1 for one in self.asked.values() if not one)
                hint = f"; {silent} nodes could not be understood: {FIX}" if silent else ""
                raise TimeoutError(f"flower: {last} of {count} clients came within {seconds:g} seconds{hint}")
            time.sleep(min(0.2, seconds))
        return found

    def about(self, node: int) -> Mapping[str, Any]:
        """What a node said of itself."""
        return self.asked[node]

    def _ask(self, nodes: list[int], model: ArrayRecord | None) -> None:
        if not nodes:
            return
        content = models_record([] if model is None else [model], {"round": 0})
        came = {one.node: one for one in exchange(self.grid, dict.fromkeys(nodes, content), HELLO, seconds=self.patience)}
        for node in nodes:
            failure = came[node].failure if node in came else "no answer"
            said = {} if failure else self._said(node, came[node].message.content)
            if said.get("key"):
                self.asked[node] = said
                continue
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
