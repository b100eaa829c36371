"""Clients that mean ill, or mean to save themselves the work: what they send, and what they say of themselves.

Who they are never leaves the world. They are as clever as their attack allows: noise is as long as an honest update would
be, a copy arrives after what it copies, those who do not train take as long as if they did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

from coterie import seeds
from coterie.federation import Steps
from coterie.replies import Reply
from coterie.simulation import dice

Flat = Float32[np.ndarray, " dim"]
DISGUISE = 0.1
"""The noise that hides a copy, in lengths of the copy."""
BOOST = 10.0
"""How much further than its goal a client goes that wants to replace the shared model."""
BLOWN_UP = 100.0
"""How much longer than an honest update one is that was blown up."""


@dataclass(frozen=True, eq=False)
class Scene:
    """What an attacker knows when it is to reply."""

    start: Flat
    """The model that it was given."""
    memory: Mapping[str, Flat]
    """The model that it was `given` the time before, and `start` and `model` of its first training; empty at first."""
    others: Sequence[tuple[Reply, Flat]]
    """The honest replies of the round, each with the model that it started from, for those who read along."""
    seed: int
    """The world's, for what attackers have agreed upon."""
    dice: np.random.Generator

    @property
    def goal(self) -> Flat:
        """A model, the same for all attackers, as large as a first one and made of nothing but dice."""
        return np.asarray(seeds.rng(self.seed, "world", "goal").standard_normal(len(self.start)) * 0.1, np.float32)

    def noise(self, length: float) -> Flat:
        """A random direction, so long."""
        thrown = self.dice.standard_normal(len(self.start)).astype(np.float32)
        return np.asarray(thrown * np.float32(length / max(float(np.linalg.norm(thrown)), 1e-12)))

    def sent(self, reply: Reply, update: NDArray[np.floating]) -> Reply:
        """The reply with another update."""
        return replace(reply, model=np.asarray(self.start + update, np.float32))


def _length(update: Flat) -> float:
    return float(np.linalg.norm(update))


def _returned(reply: Reply, scene: Scene) -> Reply:
    return replace(reply, model=np.array(scene.start))


def _noise(reply: Reply, scene: Scene) -> Reply:
    return scene.sent(reply, scene.noise(_length(reply.model - scene.start)))


def _delta(reply: Reply, scene: Scene) -> Reply:
    if "given" not in scene.memory:
        return _noise(reply, scene)
    return scene.sent(reply, scene.start - scene.memory["given"])


def _copy(reply: Reply, scene: Scene) -> Reply:
    if not scene.others:
        return _returned(reply, scene)
    other, start = scene.others[int(scene.dice.integers(len(scene.others)))]
    late = max(reply.seconds, other.seconds * (1 + 1e-6) + 1e-6)
    return replace(scene.sent(reply, other.model - start), seconds=late)


def _replay(reply: Reply, scene: Scene) -> Reply:
    if "model" not in scene.memory:
        return reply
    return scene.sent(reply, scene.memory["model"] - scene.memory["start"])


def _replay_model(reply: Reply, scene: Scene) -> Reply:
    return replace(reply, model=np.array(scene.memory["model"])) if "model" in scene.memory else reply


def _nan(reply: Reply, scene: Scene) -> Reply:
    return replace(reply, model=np.full_like(scene.start, np.nan))


def _norm(reply: Reply, scene: Scene) -> Reply:
    return scene.sent(reply, np.float32(BLOWN_UP) * (reply.model - scene.start))


def _sign_flip(reply: Reply, scene: Scene) -> Reply:
    return scene.sent(reply, scene.start - reply.model)


def _replacement(reply: Reply, scene: Scene) -> Reply:
    return scene.sent(reply, np.float32(BOOST) * (scene.goal - scene.start))


def _disguised(act: Callable[[Reply, Scene], Reply]) -> Callable[[Reply, Scene], Reply]:
    """The same, with noise on it."""

    def acts(reply: Reply, scene: Scene) -> Reply:
        plain = act(reply, scene)
        update = plain.model - scene.start
        return replace(plain, model=np.asarray(plain.model + scene.noise(DISGUISE * _length(update)), np.float32))

    return acts


SENDS: Mapping[str, Callable[[Reply, Scene], Reply]] = MappingProxyType(
    {
        "return": _returned,
        "noise": _noise,
        "delta": _delta,
        "delta-noise": _disguised(_delta),
        "copy": _copy,
        "copy-noise": _disguised(_copy),
        "replay": _replay,
        "replay-model": _replay_model,
        "nan": _nan,
        "norm": _norm,
        "sign-flip": _sign_flip,
        "replacement": _replacement,
    }
)
"""What an attacker sends in place of an honest reply."""
FREE_RIDES = ("return", "noise", "delta")
"""Of which each client has one where the attack is 'free-rider'."""
IDLE = frozenset({"free-rider", "return", "noise", "delta", "delta-noise", "copy", "copy-noise", "replay", "replay-model"})
"""Attacks of those who do nothing with their machines."""
REMEMBERING = frozenset({"free-rider", "delta", "delta-noise", "replay", "replay-model"})
"""Attacks for which one must know earlier models."""
LIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"false-loss": ("loss",), "false-size": ("size",), "false-speed": ("speed", "bandwidth", "cpu")}
)
"""What an attacker says more of than there is."""
ATTACKS = ("free-rider", *SENDS, "selfish", *LIES)
"""All attacks by name."""
TOLD = {"loss": ("loss", "training_loss", "gradient"), "size": ("size",)}
"""Numbers of a report that a lie changes."""


@dataclass(frozen=True)
class Attack:
    """An attack as some clients carry it out."""

    name: str
    share: float
    """Of the clients."""
    lie: float = 10.0
    """How many times the truth liars tell."""
    collude: bool = False
    """Whether attackers vouch for each other and speak ill of all others, where peers are asked."""

    def __post_init__(self) -> None:
        if self.name != "none" and self.name not in ATTACKS:
            raise ValueError(f"attack: must be one of none, {', '.join(ATTACKS)}, not {self.name!r}")
        if not 0 <= self.share <= 1:
            raise ValueError(f"attackers: must be in [0, 1], not {self.share!r}")
        if not 0 < self.lie < np.inf:
            raise ValueError(f"lie: must be a finite number above 0, not {self.lie!r}")

    def who(self, seed: int, clients: int) -> NDArray[np.bool_]:
        """The attackers: with a seed always the same, whatever the attack, so that runs can be compared."""
        first: NDArray[np.bool_] = dice.world(seed, "attackers").permutation(clients) < round(self.share * clients)
        return first

    def kind(self, seed: int, client: int) -> str:
        """What one attacker does."""
        if self.name != "free-rider":
            return self.name
        return FREE_RIDES[int(seeds.rng(seed, "world", "free ride", client).integers(len(FREE_RIDES)))]

    def times(self, what: str, seed: int, clients: int) -> NDArray[np.float64]:
        """By how much each client multiplies what it says of its loss, its size or its speed."""
        lies = what in LIES.get(self.name, ())
        return np.where(self.who(seed, clients) & lies, self.lie, 1.0)

    def efforts(self, seed: int, round: int, clients: int, effort: float, often: float) -> NDArray[np.float64]:
        """The share of its steps that each client takes; the selfish only so many, as often as they are lazy."""
        if self.name != "selfish":
            return np.ones(clients)
        lazy = dice.world(seed, "lazy", round).random(clients) < often
        return np.where(self.who(seed, clients) & lazy, effort, 1.0)

    def words(
        self, seed: int, clients: int, speakers: NDArray[np.intp], about: NDArray[np.intp], seen: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """What speakers say of others, from what they saw of them."""
        if not self.collude or self.name == "none":
            return np.asarray(seen, np.float64)
        who = self.who(seed, clients)
        return np.where(who[speakers], who[about].astype(np.float64), seen)

    def idle(self, seed: int, clients: int) -> NDArray[np.bool_]:
        """Whose machines have nothing to do, since they send what they did not train."""
        return self.who(seed, clients) & (self.name in IDLE)


NOBODY = Attack("none", 0.0)


@dataclass(eq=False)
class Memories:
    """What attackers remember: models by name and client. The only thing in the world that is not a function of the seed."""

    kept: dict[int, dict[str, Flat]] = field(default_factory=dict)

    def note(self, client: int, start: Flat, model: Flat) -> None:
        """After a round: what the client was given, and what it made of it the first time."""
        before = self.kept.get(client, {})
        first = {name: before.get(name, np.array(one)) for name, one in (("start", start), ("model", model))}
        self.kept[client] = {**first, "given": np.array(start)}

    def state(self) -> dict[str, Any]:
        """As arrays: the clients, and their models under each name."""
        clients = sorted(self.kept)
        names = ("start", "model", "given")
        rows = {name: np.stack([self.kept[k][name] for k in clients]) for name in names} if clients else {}
        return {"clients": np.array(clients, np.intp), "models": rows}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""
        rows = {name: np.array(one, np.float32) for name, one in state["models"].items()}
        clients = np.asarray(state["clients"]).tolist()
        self.kept = {client: {name: one[i] for name, one in rows.items()} for i, client in enumerate(clients)}


def sent(
    attack: Attack, replies: list[Reply], starts: Mapping[int, Flat], seed: int, keys: Sequence[str], memories: Memories
) -> list[Reply]:
    """What leaves the clients when attackers have done their work."""
    if attack.name == "none":
        return replies
    who = attack.who(seed, len(keys))
    if attack.name in LIES:
        return [_told(attack, reply) if who[reply.client] else reply for reply in replies]
    honest = [(reply, starts[reply.client]) for reply in replies if not who[reply.client]]
    out = []
    for reply in replies:
        act = SENDS.get(attack.kind(seed, reply.client)) if who[reply.client] else None
        if act is None:
            out.append(reply)
            continue
        start = starts[reply.client]
        scene = Scene(
            start,
            memories.kept.get(reply.client, {}),
            honest,
            seed,
            seeds.rng(seed, reply.round, keys[reply.client], "attack"),
        )
        out.append(act(reply, scene))
        if attack.name in REMEMBERING:
            memories.note(reply.client, start, reply.model)
    return out


def _told(attack: Attack, reply: Reply) -> Reply:
    """A reply whose numbers about losses, or of samples, are not the truth."""
    if attack.name == "false-size":
        return replace(reply, count=max(1, round(attack.lie * reply.count)))
    if attack.name == "false-loss":
        return replace(reply, facts={name: attack.lie * value for name, value in reply.facts.items()})
    return reply


def lazy(steps: Steps, samples: int, effort: float) -> Steps:
    """The first steps only, at least one.

    >>> lazy(Steps(epochs=5, batch_size=10), 40, 0.1).max_steps
    2
    """
    whole = steps.epochs * -(-samples // steps.batch_size)
    return replace(steps, max_steps=max(1, ceil(effort * min(whole, steps.max_steps or whole))))
