"""How far a client is trusted, by what it did here: proprietary, internal, perpetual and punitive (PIPP)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["joined", "honest", "dishonest", "missed", "overturned"]
"""What happened: an overturned event is an appeal that was granted."""


@dataclass(frozen=True)
class Event:
    """Something that bears on a client's reputation, with its reason. Events are added, never changed."""

    number: int
    """Unique among the events of a client."""
    kind: Kind
    at: float
    """When, in any unit of time; decay is per that unit."""
    reason: str
    overturns: int | None = None
    """The number of the event that an "overturned" one takes back."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"reputation: event {self.number} is '{self.kind}', none of {', '.join(get_args(Kind))}")
        if not math.isfinite(self.at):
            raise ValueError(f"reputation: event {self.number} has no time, but {self.at}")
        if not self.reason:
            raise ValueError(f"reputation: event {self.number} has no reason")
        if (self.overturns is None) == (self.kind == "overturned"):
            raise ValueError(f"reputation: event {self.number} must say what it overturns if, and only if, it overturns")


@dataclass(frozen=True)
class Standing:
    """A reputation and when it was worth that."""

    value: float
    since: float


@dataclass(frozen=True)
class Pipp:
    """Slow to earn, quick to lose, fading when idle (Eq. 5.5–5.8).

    An honest round adds `reward` and a dishonest one takes `penalty`, never below 0. Between events a reputation
    fades by e^(−decay·time); that is worked out when it is read, so idle clients cost nothing. A missed upload is
    idleness: no penalty, and no reward.

    Where the source is silent: reputations have no upper limit; they fade between rounds as well; a penalty or
    reward that an appeal overturns counts as if it had never been, with everything after it worked out anew.

    >>> rules = Pipp(decay=0.1)
    >>> events = [Event(1, "joined", 0, "new"), Event(2, "honest", 1, "audit"), Event(3, "honest", 2, "audit")]
    >>> round(rules.read(events, at=2), 4), round(rules.read(events, at=12), 4)
    (0.0381, 0.014)
    """

    reward: float = 0.02
    """m of Eq. 5.7."""
    penalty: float = 0.2
    """n of Eq. 5.7, much larger than m."""
    decay: float = 0.0
    """δ of Section 5.2.4, per unit of time."""
    welcome: float = 0.0
    """R_base of Eq. 5.6: what a newcomer starts with."""

    def __post_init__(self) -> None:
        for name in ("reward", "penalty", "decay", "welcome"):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0:
                raise ValueError(f"reputation: {name} must be a finite number from 0, not {value}")
        if self.penalty <= self.reward:
            raise ValueError(f"reputation: a penalty of {self.penalty} must be above the reward of {self.reward}")

    def fold(self, events: Iterable[Event]) -> Standing:
        """Works out a standing from all that ever happened, in the order of time and number."""
        standing = Standing(self.welcome, -math.inf)
        for event in _in_force(events):
            standing = self.after(standing, event)
        return standing

    def read(self, events: Iterable[Event], at: float) -> float:
        """The reputation at a moment, by the events up to then."""
        return self.faded(self.fold(event for event in events if event.at <= at), at)

    def after(self, standing: Standing, event: Event) -> Standing:
        """A standing once an event has happened."""
        value = self.faded(standing, event.at)
        if event.kind == "honest":
            value += self.reward
        elif event.kind == "dishonest":
            value = max(0.0, value - self.penalty)
        return Standing(value, event.at)

    def faded(self, standing: Standing, at: float) -> float:
        """What is left of a standing at a later moment; before the first event nothing has faded."""
        if at < standing.since:
            raise ValueError(f"reputation: a standing of time {standing.since} says nothing of the earlier time {at}")
        idle = at - standing.since
        return standing.value if math.isinf(idle) else standing.value * math.exp(-self.decay * idle)


def _in_force(events: Iterable[Event]) -> list[Event]:
    """Returns the events that count, in order."""
    ordered = sorted(events, key=lambda event: (event.at, event.number))
    seen: dict[int, Event] = {}
    for event in ordered:
        if event.number in seen:
            raise ValueError(f"reputation: two events have the number {event.number}")
        seen[event.number] = event
        if event.overturns is not None and getattr(seen.get(event.overturns), "kind", None) not in ("honest", "dishonest"):
            raise ValueError(f"reputation: event {event.number} overturns {event.overturns}, which is no earlier judgment")
    overturned = {event.overturns for event in ordered if event.overturns is not None}
    return [event for event in ordered if event.number not in overturned and event.kind != "overturned"]
