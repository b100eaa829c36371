"""The world that interferes: who is there, how fast, who fails, who sends nonsense. Its truth stays here.

Every process is a pure function of seed and round: a resumed run meets the same world without remembering it. Only
attackers that send again what they saw remember it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from coterie.replies import Reply
from coterie.roster import Ids
from coterie.simulation import attacks, behaviors, devices, dice, gauges, presence
from coterie.simulation.attacks import Attack, Memories
from coterie.simulation.behaviors import Behavior, Broken
from coterie.simulation.failures import STAGES, Failures

Presence = Literal["always", "random", "markov", "diurnal", "trace"]
DeviceKind = Literal["log-normal", "alike", "by-size", "tiers", "table"]


@dataclass(frozen=True)
class World:
    """What the world is like. By default everybody is there and nothing fails; devices differ, which only the clock sees.

    >>> World(availability=0.8).presence
    'random'
    """

    presence: Presence = "always"
    availability: float = 1.0
    """Share of rounds in which a client can be reached, in the mean; below 1, 'always' becomes 'random'."""
    stay: float = 10.0
    """Markov: rounds that a client stays in the mean once it is there."""
    day: int = 24
    """Diurnal: rounds in a day."""
    swing: float = 1.0
    """Diurnal: how far presence swings around `availability`, 0 not at all, 1 as far as it can."""
    trace: str | None = None
    """A CSV or JSON file of client,round or client,start,end. After its last round it starts over."""
    devices: DeviceKind = "log-normal"
    speed: float = 1000.0
    """Samples trained on in a second by the median device."""
    speed_spread: float = 0.5
    """Standard deviation of the logarithm of speed; of 'alike' devices it is 0."""
    bandwidth: float = 1e6
    """Bytes in a second of the median device, either way."""
    bandwidth_spread: float = 0.5
    coupling: float = 1.0
    """By size: twice the data go with a device 2^coupling times as fast; below 0 slower."""
    strong: float = 0.2
    """Tiers: the share of strong devices."""
    strength: float = 4.0
    """Tiers: how many times as fast, as well connected and as large strong devices are."""
    table: str | None = None
    """Table: a CSV file with columns speed,bandwidth; line k is client k's if there are as many, else lines are drawn."""
    jitter: float = 0.0
    """Standard deviation of the logarithm of a reply's time from round to round."""
    fail_before: float = 0.0
    """Chance per client and round to fail before training."""
    fail_during: float = 0.0
    fail_after: float = 0.0
    """The same after training, before the reply is out."""
    recovery: int = 0
    """Rounds that a failed client stays away in the mean."""
    broken_rate: float = 0.0
    """Chance per client and round that its reply is broken."""
    broken: tuple[str, ...] = tuple(behaviors.FAMILIES)
    """Families of broken replies to draw from."""
    attack: str = "none"
    """What attackers do: 'free-rider' (each one of 'return', 'noise', 'delta'), 'delta-noise', 'copy', 'copy-noise', 'replay',
    'replay-model', 'nan', 'norm', 'sign-flip', 'replacement', 'selfish', 'false-loss', 'false-size', 'false-speed'."""
    attackers: float = 0.2
    """The share of the clients that attack, where there is an attack."""
    lie: float = 10.0
    """How many times the truth the 'false-…' attacks tell."""
    collude: bool = False
    """Whether attackers vouch for each other and speak ill of all others, where peers are asked."""
    lazy_use: float = 0.07
    """How much of its machine a selfish client gives, where honest ones give 0.7; its steps are fewer in proportion."""
    lazy_rounds: float = 1.0
    """Chance that a selfish client is lazy in a round; else it works like an honest one."""
    hiccups: float = 0.0
    """Chance per client and tenth of a round that a device seems to do next to nothing though it works: readings only."""
    behaviors: tuple[Behavior, ...] = ()
    """Further behaviors of clients, applied in this order."""

    def __post_init__(self) -> None:
        if self.presence == "always" and self.availability < 1:
            object.__setattr__(self, "presence", "random")
        object.__setattr__(self, "broken", tuple(self.broken))
        failing = ("fail_before", "fail_during", "fail_after", "broken_rate", "hiccups")
        shares = ("availability", "swing", "strong", *failing, "lazy_rounds")
        not_negative = ("speed_spread", "bandwidth_spread", "jitter")
        positive = ("speed", "bandwidth", "strength")
        for name, allowed, good in [
            ("presence", f"one of {', '.join(get_args(Presence))}", self.presence in get_args(Presence)),
            ("devices", f"one of {', '.join(get_args(DeviceKind))}", self.devices in get_args(DeviceKind)),
            *((name, "in [0, 1]", 0 <= getattr(self, name) <= 1) for name in shares),
            *((name, "a number from 0", 0 <= getattr(self, name) < np.inf) for name in not_negative),
            *((name, "a finite number above 0", 0 < getattr(self, name) < np.inf) for name in positive),
            ("lazy_use", f"in (0, {gauges.USUAL}]", 0 < self.lazy_use <= gauges.USUAL),
            ("stay", "a number from 1", 1 <= self.stay < np.inf),
            ("day", "a whole number from 1", self.day == int(self.day) and self.day >= 1),
            ("recovery", "a whole number from 0", self.recovery == int(self.recovery) and self.recovery >= 0),
            ("coupling", "a finite number", bool(np.isfinite(self.coupling))),
            ("fail_before", "with fail_during and fail_after at most 1", sum(self.failures.rates) <= 1),
            ("trace", "the path of a file where presence is 'trace'", self.presence != "trace" or bool(self.trace)),
            ("table", "the path of a file where devices is 'table'", self.devices != "table" or bool(self.table)),
        ]:
            if not good:
                raise ValueError(f"world: {name} must be {allowed}, not {getattr(self, name)!r}")
        if self.presence == "markov":
            presence.markov_chances(self.availability, self.stay)
        Broken(self.broken_rate, self.broken)
        Attack(self.attack, self.attackers, self.lie, self.collude)

    @property
    def failures(self) -> Failures:
        """Chances of failing, and how long it takes to come back."""
        return Failures((self.fail_before, self.fail_during, self.fail_after), self.recovery)


@dataclass(frozen=True, eq=False)
class Reality:
    """A world as it befalls these clients."""

    world: World
    keys: tuple[str, ...]
    sizes: NDArray[np.int64]
    seed: int

    @cached_property
    def devices(self) -> devices.Devices:
        """Each client's device."""
        world, count = self.world, len(self.keys)
        if world.devices == "table":
            return devices.from_table(self.seed, count, devices.read_table(world.table or ""))
        spreads = (0.0, 0.0) if world.devices == "alike" else (world.speed_spread, world.bandwidth_spread)
        made = devices.log_normal(self.seed, count, world.speed, world.bandwidth, spreads)
        match world.devices:
            case "by-size":
                return devices.by_size(made, self.sizes, world.coupling)
            case "tiers":
                return devices.tiers(made, self.seed, world.strong, world.strength)
            case _:
                return made

    @cached_property
    def attack(self) -> Attack:
        """What some clients do."""
        return Attack(self.world.attack, self.world.attackers, self.world.lie, self.world.collude)

    def claimed(self, columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """What everybody gets to know of these facts about the clients: what each says of itself."""
        times = {name: self.attack.times(name, self.seed, len(self.keys)) for name in columns}
        lied = {name: (values * times[name]).astype(values.dtype) for name, values in columns.items()}
        return {name: lied[name] if (times[name] != 1).any() else values for name, values in columns.items()}

    def efforts(self, round: int) -> NDArray[np.float64]:
        """The share of its steps that each client takes."""
        world = self.world
        return self.attack.efforts(self.seed, round, len(self.keys), world.lazy_use / gauges.USUAL, world.lazy_rounds)

    def use(self, round: int) -> NDArray[np.float64]:
        """What each device's gauges read in a round, clients × (CPU, RAM, bandwidth), in [0, 1]."""
        given = np.where(self.attack.idle(self.seed, len(self.keys)), 0.0, self.efforts(round))
        return gauges.readings(self.seed, round, given, self.world.hiccups)

    @cached_property
    def trace(self) -> NDArray[np.bool_]:
        """The trace file, rounds × clients."""
        return presence.read_trace(self.world.trace or "", self.keys)

    @cached_property
    def behaviors(self) -> tuple[Behavior, ...]:
        """Everything that clients do beside what they should."""
        world = self.world
        broken = (Broken(world.broken_rate, world.broken),) if world.broken_rate else ()
        return (*world.behaviors, *broken)

    def present(self, round: int) -> Ids:
        """Who can be reached: there, and not away after a failure."""
        away = self.world.failures.away(self.seed, round, len(self.keys))
        return np.flatnonzero(self._there(round) & ~away)

    def failing(self, round: int, clients: Ids) -> dict[int, str]:
        """Which of these clients fail this round, and at which stage."""
        stage = self.world.failures.stage(self.seed, round, len(self.keys))[clients]
        return {int(k): STAGES[s] for k, s in zip(clients, stage, strict=True) if s >= 0}

    def seconds(self, round: int, clients: Ids, trained: NDArray[np.int64], crossed: NDArray[np.int64]) -> NDArray[np.float64]:
        """When replies arrive, counted from the start of the training."""
        exact = self.devices.seconds(clients, trained, crossed)
        if not self.world.jitter:
            return exact
        thrown = dice.world(self.seed, "jitter", round).standard_normal(len(self.keys))
        return np.asarray(exact * np.exp(self.world.jitter * thrown[clients]))

    def answering(self, clients: Ids, seen: NDArray[np.int64], crossed: NDArray[np.int64]) -> float:
        """How long a question takes: the slowest of those who answer. To evaluate takes a third of the time to train."""
        return float(self.devices.seconds(clients, seen / 3, crossed).max(initial=0.0))

    def sends(
        self, replies: list[Reply], starts: Mapping[int, np.ndarray], round: int, memories: Memories | None = None
    ) -> list[Reply]:
        """What leaves the clients in place of these replies; `starts` are the models that they started from."""
        replies = attacks.sent(self.attack, replies, starts, self.seed, self.keys, memories or Memories())
        acting = [behavior.acts(self.seed, round, len(self.keys)) for behavior in self.behaviors]
        if not any(acts.any() for acts in acting):
            return replies
        return [
            one
            for reply in replies
            for one in behaviors.sent(self.behaviors, reply, self.keys[reply.client], starts[reply.client], self.seed, acting)
        ]

    def _there(self, round: int) -> presence.Flags:
        world, count = self.world, len(self.keys)
        match world.presence:
            case "random":
                return presence.at_random(self.seed, round, count, world.availability)
            case "markov":
                return presence.markov(self.seed, round, count, world.availability, world.stay)
            case "diurnal":
                return presence.diurnal(self.seed, round, count, world.availability, world.day, world.swing)
            case "trace":
                return np.asarray(self.trace[(round - 1) % len(self.trace)])
            case _:
                return np.ones(count, dtype=bool)
