"""The server offers a reward, and those train to whom it is worth most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from coterie.coalitions.stackelberg import equilibrium
from coterie.federation import View
from coterie.roster import Ids
from coterie.rules import Selector
from coterie.selectors.within_time import NEEDS, Seconds, sending


@dataclass(frozen=True)
class ServerStackelberg(Selector):
    """Trains those who would bring most samples for their part of a reward (Jiang and Wu, 2021, size-based).

    The server announces a reward R. A client that trains on d_i samples has R d_i / Σd − c_i d_i of it, with c_i its cost of a
    sample and 0 ≤ d_i ≤ what it holds and can train on before the deadline. That is a contest with a unique equilibrium
    (`coterie.coalitions.stackelberg`), with R/c_i as gains. The `per_round` who bring most train, on all that they hold.

    Where the source is silent: c_i is the time that a sample takes on the client's device, so R is in seconds. From the
    abstract and secondary descriptions.
    """

    per_round: int
    """How many train at most."""
    reward: float = 100.0
    """R, in seconds of training."""
    seconds: float = 60.0
    """The deadline, upload included."""
    passes: float = 5.0
    """How often a client goes over its samples: the backbone's epochs."""

    needs: ClassVar[frozenset[str]] = NEEDS

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("per_round", "a whole number from 1", self.per_round >= 1),
            ("reward", "a number above 0", 0 < self.reward < np.inf),
            ("seconds", "a number above 0", 0 < self.seconds < np.inf),
            ("passes", "a number above 0", 0 < self.passes < np.inf),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")

    def choose(self, view: View, state: Any) -> Ids:
        there = view.present
        speed = np.maximum(view.roster["speed"][there], 1e-12) / self.passes
        samples = contributions(self.reward * speed, self.most(view, speed))
        view.note(there, samples=samples)
        first = np.argsort(-samples, kind="stable")[: self.per_round]
        return np.sort(there[first[samples[first] > 0]])

    def most(self, view: View, speed: Seconds) -> Seconds:
        """The samples that clients hold and can train on in time."""
        left = np.maximum(self.seconds - sending(view, view.present), 0.0)
        return np.minimum(view.roster["size"][view.present], left * speed)


def contributions(gains: Seconds, most: Seconds) -> Seconds:
    """How many samples each brings at the equilibrium; a client that alone can bring any brings all that it can.

    >>> contributions(np.array([10.0, 8.0, 5.0, 3.0, 1.0]), np.full(5, 100.0)).round(3).tolist()
    [2.491, 1.938, 0.277, 0.0, 0.0]
    """
    able = np.flatnonzero((most > 0) & (gains > 0))
    brought = np.zeros(len(gains))
    if len(able) == 1:
        brought[able] = most[able]
    elif len(able):
        brought[able] = equilibrium(gains[able], most[able] / gains[able].max())
    return brought
