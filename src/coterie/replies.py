"""Everything that left the clients in a round, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Float32
from numpy.typing import NDArray

from coterie.plan import Plan
from coterie.roster import Ids

SECOND, STALE, UNASKED = "second reply in one round", "stale", "was not asked"
UNTIMELY = (SECOND, STALE, UNASKED)
"""Reasons for refusing a reply, whatever it holds."""


@dataclass(frozen=True)
class Meter:
    """What crossed between server and clients, and between clients, counted by kind.

    >>> meter = Meter(down={"model": 400}, evaluations=3) + Meter(down={"model": 100}, up={"loss": 8})
    >>> meter.bytes_down, meter.bytes_up, meter.evaluations
    (500, 8, 3)
    """

    down: Mapping[str, int] = field(default_factory=dict)
    """Bytes to clients from the server."""
    up: Mapping[str, int] = field(default_factory=dict)
    """Bytes from clients to the server."""
    between: Mapping[str, int] = field(default_factory=dict)
    """Bytes from client to client: peers, and members with their leader."""
    evaluations: int = 0
    """Models that some client ran over data of its own to answer a question."""
    messages: int = 0
    """Messages that reached the server."""
    epsilon: float = 0.0
    """Privacy spent, as the sum over clients."""

    def __add__(self, other: Meter) -> Meter:
        return Meter(
            _sum(self.down, other.down),
            _sum(self.up, other.up),
            _sum(self.between, other.between),
            self.evaluations + other.evaluations,
            self.messages + other.messages,
            self.epsilon + other.epsilon,
        )

    @property
    def bytes_down(self) -> int:
        return sum(self.down.values())

    @property
    def bytes_up(self) -> int:
        return sum(self.up.values())

    @property
    def bytes_between(self) -> int:
        return sum(self.between.values())

    @property
    def bytes(self) -> int:
        """All bytes, whoever paid for them."""
        return self.bytes_down + self.bytes_up + self.bytes_between


@dataclass(frozen=True, eq=False)
class Reply:
    """What one client sent, unchecked."""

    client: int
    model: Any
    """The flat model after local training."""
    count: Any
    """Training samples behind it."""
    round: int
    facts: Mapping[str, float] = field(default_factory=dict)
    """Numbers about the training: 'loss' and 'loss_rms' over the samples seen, and what the plan wants."""
    seconds: float = 0.0
    """When it arrived, counted from the start of the round."""


@dataclass(frozen=True, eq=False)
class Replies:
    """What was accepted of a round's replies, one row a client in key order, and what became of the rest.

    `models`, `counts` and `facts` hold accepted replies only, so a rule that never heard of broken clients
    copes with them; `rejected` and `lost` say who is missing and why.
    """

    clients: Ids
    models: Float32[np.ndarray, "replies dim"]
    counts: NDArray[np.int64]
    facts: Mapping[str, Float[np.ndarray, " replies"]] = field(default_factory=dict)
    seconds: Float[np.ndarray, " replies"] = field(default_factory=lambda: np.empty(0))
    rejected: Mapping[int, str] = field(default_factory=dict)
    """Who answered but was not believed, with the reason."""
    lost: Mapping[int, str] = field(default_factory=dict)
    """Who was asked but did not answer in time, with the reason."""
    meter: Meter = field(default_factory=Meter)
    """What these replies cost."""
    duration: float = 0.0
    """Virtual seconds (wall-clock seconds on Flower) that the round took."""

    def __len__(self) -> int:
        return len(self.clients)

    @property
    def malformed(self) -> list[int]:
        """Who was refused for what the reply held, and not for coming late, twice or unasked."""
        accepted = set(self.clients.tolist())
        return [k for k, why in self.rejected.items() if k not in accepted and not why.startswith(UNTIMELY)]

    def only(self, flags: NDArray[np.bool_]) -> Replies:
        """Some of the replies, as if the others had not come."""
        return replace(
            self,
            clients=self.clients[flags],
            models=self.models[flags],
            counts=self.counts[flags],
            facts={name: values[flags] for name, values in self.facts.items()},
            seconds=self.seconds[flags] if len(self.seconds) else self.seconds,
        )


@dataclass(frozen=True)
class Door:
    """What a reply must be to be let in. A reply is taken whole or rejected whole."""

    max_update: float = 1000.0
    """The largest length of an update, in units of 1 + the length of the model it started from."""
    max_count: int = 2**48
    """The largest believable number of samples."""

    def refuses(self, reply: Reply, start: NDArray[np.float32], round: int, seen: bool) -> str | None:
        """Returns why a reply is rejected, or None.

        >>> Door().refuses(Reply(0, np.array([np.nan, 1], np.float32), 10, 1), np.zeros(2, np.float32), 1, False)
        'model: 1 of 2 values are not finite'
        """
        if seen:
            return SECOND
        if reply.round != round:
            return f"{STALE}: a reply to round {reply.round} in round {round}"
        return self._refuses_count(reply.count) or self._refuses_model(reply.model, start) or _refuses_facts(reply.facts)

    def _refuses_count(self, count: Any) -> str | None:
        if isinstance(count, bool) or not isinstance(count, int | float | np.integer | np.floating):
            return f"count: a {type(count).__name__} is not a number of samples"
        if not math.isfinite(count) or count != int(count) or not 0 < count <= self.max_count:
            return f"count: {count} is not a whole number from 1 to {self.max_count}"
        return None

    def _refuses_model(self, model: Any, start: NDArray[np.float32]) -> str | None:
        if not isinstance(model, np.ndarray):
            return f"model: a {type(model).__name__} is not an array"
        if model.dtype != np.float32:
            return f"model: values are {model.dtype}, not float32"
        if model.shape != start.shape:
            return f"model: shape {model.shape}, not {start.shape}"
        finite = np.isfinite(model)
        if not finite.all():
            return f"model: {int((~finite).sum())} of {model.size} values are not finite"
        length = _length(model - start)
        allowed = self.max_update * (1 + _length(start))
        if length > allowed:
            return f"model: the update's length {length:.3g} is over {allowed:.3g}"
        return None


def admit(
    plan: Plan,
    models: Float32[np.ndarray, "rows dim"],
    round: int,
    replies: Iterable[Reply],
    *,
    door: Door = Door(),
    lost: Mapping[int, str] | None = None,
    meter: Meter = Meter(),
    duration: float = 0.0,
) -> Replies:
    """Checks raw replies at the door and lays the accepted ones out in key order.

    Where a client replies twice the first is kept. Replies of clients that were not asked are refused too.
    """
    start = dict(zip(plan.trainers.tolist(), plan.start.tolist(), strict=True))
    accepted: dict[int, Reply] = {}
    rejected: dict[int, str] = {}
    for reply in replies:
        client = int(reply.client)
        if client not in start:
            rejected[client] = UNASKED
            continue
        reason = door.refuses(reply, models[start[client]], round, client in accepted) or _lacks(plan, reply)
        if reason is None:
            accepted[client] = reply
        else:
            rejected.setdefault(client, reason)
    clients = np.array(sorted(accepted), dtype=np.intp)
    rows = [accepted[client] for client in clients.tolist()]
    names = set.intersection(*(set(row.facts) for row in rows)) if rows else set()
    return Replies(
        clients=clients,
        models=np.stack([row.model for row in rows]) if rows else np.empty((0, models.shape[1]), np.float32),
        counts=np.array([int(row.count) for row in rows], dtype=np.int64),
        facts={name: np.array([row.facts[name] for row in rows], dtype=np.float64) for name in sorted(names)},
        seconds=np.array([row.seconds for row in rows], dtype=np.float64),
        rejected=rejected,
        lost=dict(sorted((lost or {}).items())),
        meter=meter,
        duration=duration,
    )


def _lacks(plan: Plan, reply: Reply) -> str | None:
    missing = plan.wants - reply.facts.keys()
    return f"{min(missing)}: it was asked for and did not come" if missing else None


def _refuses_facts(facts: Mapping[str, float]) -> str | None:
    for name, value in facts.items():
        if not isinstance(value, int | float | np.integer | np.floating) or not math.isfinite(value):
            return f"{name}: {value!r} is not a finite number"
    return None


def _length(vector: NDArray[np.float32]) -> float:
    """The Euclidean norm, without BLAS: its threads cost far more than they save here, and their number shows in the bits."""
    return float(np.sqrt(np.square(vector, dtype=np.float64).sum()))


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {kind: one.get(kind, 0) + other.get(kind, 0) for kind in sorted({*one, *other})}
