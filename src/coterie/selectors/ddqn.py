"""A server that learns by double deep Q-learning whom it can trust to work, from what devices' gauges read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

from coterie import seeds
from coterie.federation import View
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.roster import Ids, Roster
from coterie.rules import Selector

Floats = NDArray[np.float64]
SEEN = ("use_cpu", "use_ram")
LEAVE, TAKE = 0, 1


@dataclass(frozen=True, eq=False)
class Network:
    """Two layers: tanh, then a value for each of the two actions."""

    inward: Float[np.ndarray, "inputs hidden"]
    bias: Float[np.ndarray, " hidden"]
    outward: Float[np.ndarray, "hidden actions"]
    shift: Float[np.ndarray, " actions"]

    @classmethod
    def drawn(cls, inputs: int, hidden: int, rng: np.random.Generator) -> Network:
        """Small random weights."""
        first = rng.standard_normal((inputs, hidden)) / np.sqrt(inputs)
        return cls(first, np.zeros(hidden), rng.standard_normal((hidden, 2)) / np.sqrt(hidden), np.zeros(2))

    def values(self, x: Float[np.ndarray, "states inputs"]) -> Float[np.ndarray, "states actions"]:
        """Q of leaving and of taking a device, for each state."""
        return np.asarray(np.tanh(x @ self.inward + self.bias) @ self.outward + self.shift)

    def stepped(
        self, x: Float[np.ndarray, "states inputs"], actions: NDArray[np.intp], targets: Floats, rate: float
    ) -> Network:
        """One step down the mean of half the squared errors of the actions' values."""
        hidden = np.tanh(x @ self.inward + self.bias)
        values, rows = hidden @ self.outward + self.shift, np.arange(len(x))
        error = np.zeros_like(values)
        error[rows, actions] = (values[rows, actions] - targets) / len(x)
        below = (error @ self.outward.T) * (1 - np.square(hidden))
        return Network(
            self.inward - rate * x.T @ below,
            self.bias - rate * below.sum(axis=0),
            self.outward - rate * hidden.T @ error,
            self.shift - rate * error.sum(axis=0),
        )


def double_targets(online: Network, target: Network, rewards: Floats, after: Floats, discount: float) -> Floats:
    """What Q should have been: r + γ Q_target(s', argmax_a Q(s', a)) (van Hasselt, Guez and Silver, 2016)."""
    best = online.values(after).argmax(axis=1)
    return np.asarray(rewards + discount * target.values(after)[np.arange(len(after)), best])


@dataclass(frozen=True, eq=False)
class Learned:
    """What the server remembers."""

    trust: Floats
    """What each device is trusted; 1 for a new one."""
    use: Float[np.ndarray, "devices readings"]
    """Its last readings; 0 for a new one."""
    online: Network | None
    target: Network | None
    """The network that is held fixed for a while."""
    before: Float[np.ndarray, "kept inputs"]
    """What was met lately: states, actions, rewards, and states after that."""
    actions: Int[np.ndarray, " kept"]
    rewards: Floats
    after: Float[np.ndarray, "kept inputs"]
    rounds: int


@dataclass(frozen=True)
class Ddqn(Selector):
    """Schedules by double deep Q-learning the devices that neither spare their machines nor overuse them (Rjoub et al., 2022).

    1. A device's state is its trust and its last readings of CPU and memory.
    2. Those train for which taking is worth most above leaving, by a network of two layers; each seat goes to somebody at
       random instead with chance ε, which falls every round.
    3. What a taken device's readings differ from the median reading, over that, is missing from 1 in what it is trusted
       for the round; trust follows by exponential average. The reward is twice that less 1; 0 for leaving a device.
    4. After each round the network takes some steps towards r + γ Q_target(s', argmax_a Q(s', a)), on what was met lately.

    Where the source is silent, and where we differ: the trust formula and the network's sizes were not to be had, so those
    are ours. There the action is a set of devices; here one network judges each, and the set is the best of them. Energy,
    which is in the source's state, is left out: no gauge here reads it. As in the thesis on FedTrust, which names it as a
    rival, only the server watches, and no device says anything of another.
    """

    per_round: int
    """How many train in a round."""
    exploration: float = 1.0
    """ε, the chance of a random choice in the first round."""
    decay: float = 0.85
    """What ε is multiplied by every round."""
    exploration_min: float = 0.05
    """The floor of ε."""
    discount: float = 0.5
    """γ, how much later rewards count."""
    memory: float = 0.5
    """The share of the old trust in the new."""
    hidden: int = 16
    """The width of the network."""
    rate: float = 0.1
    """How far it steps."""
    steps: int = 30
    """How many steps it takes after each round."""
    batch: int = 64
    """On how many memories each step looks."""
    kept: int = 2000
    """How many are kept."""
    copy_every: int = 2
    """Rounds for which the target network is held fixed."""

    wants: ClassVar[frozenset[str]] = frozenset(SEEN)

    def __post_init__(self) -> None:
        for name, allowed, good in [
            *((name, "a whole number from 1", getattr(self, name) >= 1) for name in ("per_round", "hidden", "batch", "kept")),
            *((name, "in [0, 1]", 0 <= getattr(self, name) <= 1) for name in ("exploration", "exploration_min", "memory")),
            ("decay", "in (0, 1]", 0 < self.decay <= 1),
            ("discount", "in [0, 1)", 0 <= self.discount < 1),
            ("rate", "a number above 0", 0 < self.rate < np.inf),
            ("steps", "a whole number from 0", self.steps >= 0),
            ("copy_every", "a whole number from 1", self.copy_every >= 1),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")

    def begin(self, roster: Roster) -> Learned:
        devices, nothing = len(roster), np.empty((0, 1 + len(SEEN)))
        use = np.zeros((devices, len(SEEN)))
        return Learned(np.ones(devices), use, None, None, nothing, np.empty(0, np.intp), np.empty(0), nothing, 0)

    def choose(self, view: View, state: Learned) -> Ids:
        there = view.present
        worth = np.zeros(len(there))
        if state.online is not None:
            values = state.online.values(states(state)[there])
            worth = values[:, TAKE] - values[:, LEAVE]
        view.note(there, score=worth, trust=state.trust[there])
        epsilon = max(self.exploration * self.decay**state.rounds, self.exploration_min)
        order = there[np.argsort(-worth, kind="stable")]
        seats = min(self.per_round, len(there))
        best = order[: int((view.rng.random(seats) >= epsilon).sum())]
        others = np.setdiff1d(there, best)
        return np.sort(np.concatenate([best, view.rng.choice(others, seats - len(best), replace=False)]))

    def learn(self, view: View, plan: Plan, replies: Replies, state: Learned) -> Learned:
        state = replace(state, rounds=state.rounds + 1)
        if not len(replies) or not replies.facts.keys() >= set(SEEN):
            return state
        told = np.column_stack([replies.facts[name] for name in SEEN])
        good = usual_use(told)
        trust, use = state.trust.copy(), state.use.copy()
        trust[replies.clients] = self.memory * trust[replies.clients] + (1 - self.memory) * good
        use[replies.clients] = np.clip(told, 0, 1)
        new = replace(state, trust=trust, use=use)
        return self.trained(self.remembering(state, new, view.present, replies.clients, good), view)

    def remembering(self, old: Learned, new: Learned, present: Ids, taken: Ids, good: Floats) -> Learned:
        """Adds a round to what was met: those taken, and those who were there and were left."""
        left = np.setdiff1d(present, taken)
        who, rewards = np.concatenate([taken, left]), np.concatenate([2 * good - 1, np.zeros(len(left))])
        actions = np.where(np.arange(len(who)) < len(taken), TAKE, LEAVE)
        return replace(
            new,
            before=np.concatenate([old.before, states(old)[who]])[-self.kept :],
            actions=np.concatenate([old.actions, actions])[-self.kept :],
            rewards=np.concatenate([old.rewards, rewards])[-self.kept :],
            after=np.concatenate([old.after, states(new)[who]])[-self.kept :],
        )

    def trained(self, state: Learned, view: View) -> Learned:
        """The network after its steps."""
        online = state.online or Network.drawn(1 + len(SEEN), self.hidden, seeds.rng(view.seed, "network"))
        target = online if state.target is None or state.rounds % self.copy_every == 0 else state.target
        for _ in range(self.steps):
            some = view.rng.integers(len(state.actions), size=min(self.batch, len(state.actions)))
            aims = double_targets(online, target, state.rewards[some], state.after[some], self.discount)
            online = online.stepped(state.before[some], state.actions[some], aims, self.rate)
        return replace(state, online=online, target=target)


def states(learned: Learned) -> Float[np.ndarray, "devices inputs"]:
    """What the network sees of each device."""
    return np.column_stack([learned.trust, learned.use])


def usual_use(told: Float[np.ndarray, "devices readings"]) -> Floats:
    """1 for those whose readings are the median of all, less for those above or below; negative readings say nothing.

    >>> usual_use(np.array([[0.7, 0.7], [0.7, 0.35], [0.7, -1.0], [2.1, 0.7]])).tolist()
    [1.0, 0.75, 1.0, 0.5]
    """
    known = told >= 0
    there = [column[mask] for column, mask in zip(told.T, known.T, strict=True)]
    middle = np.array([np.median(column) if len(column) else 0.0 for column in there])
    apart = np.abs(told - middle) / np.maximum(middle, 1e-9)
    good = np.where(known, 1 - np.minimum(apart, 1), 0.0)
    count = known.sum(axis=1)
    return np.where(count > 0, good.sum(axis=1) / np.maximum(count, 1), 1.0)
