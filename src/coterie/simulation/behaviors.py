"""What clients send that is not what a good client sends. Who does so, and when, never leaves the world."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

from coterie import seeds
from coterie.replies import Reply
from coterie.simulation import dice

Sent = tuple[Reply, ...]


class Behavior(ABC):
    """Changes what some clients send."""

    @abstractmethod
    def acts(self, seed: int, round: int, clients: int) -> NDArray[np.bool_]:
        """Which clients it has this round: a pure function of seed and round."""

    @abstractmethod
    def sends(self, reply: Reply, start: Float32[np.ndarray, " dim"], dice: np.random.Generator) -> Sent:
        """What such a client sends in place of its reply."""


def _model(change: Callable[[np.ndarray, np.ndarray], object]) -> Callable[[Reply, np.ndarray], Sent]:
    return lambda reply, start: (replace(reply, model=change(reply.model, start)),)


def _count(count: object) -> Callable[[Reply, np.ndarray], Sent]:
    return lambda reply, start: (replace(reply, count=count),)


def _with(model: np.ndarray, value: float) -> np.ndarray:
    return np.concatenate([np.array([value], np.float32), model[1:]])


def _far(model: np.ndarray, start: np.ndarray) -> np.ndarray:
    away = np.ones_like(start) / np.float32(np.sqrt(start.size))
    return np.asarray(start + away * np.float32(1e4 * (1 + np.linalg.norm(start))))


FAMILIES: dict[str, Callable[[Reply, np.ndarray], Sent]] = {
    "nan": _model(lambda model, start: _with(model, float("nan"))),
    "inf": _model(lambda model, start: _with(model, float("inf"))),
    "huge": _model(_far),
    "shape": _model(lambda model, start: model[:-1]),
    "dtype": _model(lambda model, start: model.astype(np.float64)),
    "no-array": _model(lambda model, start: "model"),
    "count-zero": _count(0),
    "count-negative": _count(-1),
    "count-nan": _count(float("nan")),
    "count-huge": _count(2**63),
    "count-text": _count("many"),
    "fact-nan": lambda reply, start: (replace(reply, facts={**reply.facts, "loss": float("nan")}),),
    "stale": lambda reply, start: (replace(reply, round=reply.round - 1),),
    "twice": lambda reply, start: (reply, replace(reply, model=2 * reply.model)),
}
"""Ways in which a reply can be broken; of 'twice' the first reply is good."""


@dataclass(frozen=True)
class Broken(Behavior):
    """Sends replies that are broken, each in one of the families, at a rate per client and round."""

    rate: float
    families: tuple[str, ...] = tuple(FAMILIES)

    def __post_init__(self) -> None:
        unknown = [family for family in self.families if family not in FAMILIES]
        if unknown or not self.families:
            raise ValueError(f"broken: must be some of {', '.join(FAMILIES)}, not {', '.join(unknown) or 'none'}")
        if not 0 <= self.rate <= 1:
            raise ValueError(f"broken_rate: must be in [0, 1], not {self.rate!r}")

    def acts(self, seed: int, round: int, clients: int) -> NDArray[np.bool_]:
        return dice.world(seed, "broken", round).random(clients) < self.rate

    def sends(self, reply: Reply, start: Float32[np.ndarray, " dim"], dice: np.random.Generator) -> Sent:
        return FAMILIES[self.families[int(dice.integers(len(self.families)))]](reply, start)


def sent(
    behaviors: tuple[Behavior, ...], reply: Reply, key: str, start: np.ndarray, seed: int, acting: list[NDArray[np.bool_]]
) -> Sent:
    """What leaves a client once every behavior that it has was applied to its reply."""
    out: Sent = (reply,)
    for number, (behavior, acts) in enumerate(zip(behaviors, acting, strict=True)):
        if acts[reply.client]:
            thrown = seeds.rng(seed, reply.round, key, "behavior", number)
            out = tuple(one for each in out for one in behavior.sends(each, start, thrown))
    return out
