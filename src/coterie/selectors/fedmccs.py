"""Clients that meet several criteria at once: machine, time, and classes held."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from coterie.federation import View
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.roster import Ids, Roster
from coterie.rules import Selector
from coterie.selectors.within_time import NEEDS, Forecast


@dataclass(frozen=True, eq=False)
class Criteria:
    """What is known of the clients."""

    forecast: Forecast
    classes: NDArray[np.float64]
    """For each client how many classes it holds; NaN before it was asked."""


@dataclass(frozen=True)
class FedMCCS(Selector):
    """Trains those with machine enough who are expected to finish in time, most classes first (AbdulRahman et al., 2021).

    1. A linear regression over all replies so far predicts how long each client takes (`coterie.selectors.within_time`).
    2. Clients with too little CPU or memory, or expected to be late, are left out.
    3. Of the rest the first `per_round` train: those who hold most classes, or (`first="speed"`, the paper) the fastest.

    Where the source is silent, and where we differ: from the abstract and secondary descriptions. The paper predicts CPU,
    memory and energy as well, from each client's history of use; here these are what the device says that it has, and
    energy is left out. "Most classes first" is how the StackFed thesis describes its rival. Nobody left: the fastest train.
    """

    per_round: int
    """How many train at most."""
    seconds: float = 60.0
    """The deadline by which a client must be expected back."""
    min_cpu: float = 0.25
    """The least CPU, in those of the median device."""
    min_ram: float = 1.0
    """The least memory, in gigabytes."""
    first: Literal["classes", "speed"] = "classes"
    """Who goes first of those that meet the criteria."""
    passes: float = 5.0
    """How often a client goes over its samples: the backbone's epochs."""

    needs: ClassVar[frozenset[str]] = frozenset({*NEEDS, "cpu", "ram", "labels"})

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("per_round", "a whole number from 1", self.per_round >= 1),
            ("seconds", "a number above 0", self.seconds > 0),
            ("min_cpu", "a number from 0", self.min_cpu >= 0),
            ("min_ram", "a number from 0", self.min_ram >= 0),
            ("passes", "a number above 0", 0 < self.passes < np.inf),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")

    def begin(self, roster: Roster) -> Criteria:
        return Criteria(Forecast.first(), np.full(len(roster), np.nan))

    def choose(self, view: View, state: Criteria) -> Ids:
        there = view.present
        seconds = state.forecast.seconds(view, there, self.passes)
        machine = (view.roster["cpu"][there] >= self.min_cpu) & (view.roster["ram"][there] >= self.min_ram)
        meets = machine & (seconds <= self.seconds)
        classes = np.nan_to_num(state.classes[there])
        view.note(there, seconds=seconds, classes=state.classes[there], meets=meets)
        if not meets.any():
            return np.sort(there[np.argsort(seconds, kind="stable")[: self.per_round]])
        diversity = classes if self.first == "classes" else np.zeros(len(there))
        order = np.lexsort((seconds, -diversity))
        return np.sort(there[order[meets[order]][: self.per_round]])

    def learn(self, view: View, plan: Plan, replies: Replies, state: Criteria) -> Criteria:
        forecast = state.forecast.after(view, replies, self.passes)
        unknown = view.present[np.isnan(state.classes[view.present])]
        if self.first == "speed" or not len(unknown):
            return replace(state, forecast=forecast)
        classes = state.classes.copy()
        classes[unknown] = (view.ask.label_counts(unknown) > 0).sum(axis=1)
        return Criteria(forecast, classes)
