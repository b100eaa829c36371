"""What happens at a client that trains: the same words at home in the simulation and on a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from jaxtyping import Float, Float32
from numpy.typing import NDArray

from coterie import seeds
from coterie.federation import Descent, Inputs, Local, OwnSamples, Steps
from coterie.plan import LOSSES, USE
from coterie.roster import Ids
from coterie.rules import Backbone, Trained
from coterie.simulation import dice
from coterie.simulation.attacks import lazy
from coterie.simulation.clients import Clients, Samples
from coterie.simulation.path import Path
from coterie.simulation.work import Task

Flat = Float32[np.ndarray, " dim"]


@dataclass(frozen=True, eq=False)
class Fit(Task["Fitted"]):
    """One client trains in one round."""

    backbone: Backbone
    client: int
    model: Flat
    kept: Mapping[str, Flat]
    round: int
    wants: frozenset[str]
    effort: float = 1.0
    """The share of its steps that the client takes."""

    def run(self, path: Path, clients: Clients) -> Fitted:
        samples, key = clients.samples(self.client, "train"), clients.keys[self.client]
        home = Home(path, samples, clients.seed, key, self.round, effort=self.effort)
        trained = home.train(self.backbone, self.model, self.kept)
        told = judged(path, clients.asked(self.client, "holdout"), self.model, trained.share, self.wants)
        return Fitted(replace(trained, facts={**trained.facts, **told}), len(home.samples[0]), home.seen)


@dataclass(frozen=True, eq=False)
class Fitted:
    """What came of it."""

    trained: Trained
    count: int
    """Training samples behind it."""
    seen: int
    """Samples that went through the model, again and again."""


@dataclass(eq=False)
class Home:
    """A client at home: its training samples and its dice. Each descent in a round has dice of its own."""

    path: Path
    samples: Samples
    seed: int
    key: str
    round: int
    purpose: str = "train"
    effort: float = 1.0
    """The share of its steps that it takes."""
    seen: int = field(default=0, init=False)
    descents: int = field(default=0, init=False)

    def train(self, backbone: Backbone, model: Flat, kept: Mapping[str, Flat]) -> Trained:
        """Has a backbone train."""
        own, dice = Own(self), seeds.rng(self.seed, self.round, self.key, self.purpose, "backbone")
        return backbone.train(Local(model, kept, self.round, self.path.layout, self.descend, own, dice))

    def descend(
        self,
        start: Flat,
        steps: Steps,
        *,
        toward: Flat | None = None,
        pull: float = 0.0,
        only: NDArray[np.bool_] | slice | None = None,
    ) -> Descent:
        """Mini-batch descent over the client's samples; see `Path.descend`. `only` may be a slice too."""
        x, y = self.samples
        steps = steps if self.effort >= 1 else lazy(steps, len(x), self.effort)
        where = (self.seed, self.round, self.key, self.purpose, self.descents)
        order, seed = dice.epochs(*where, len(x), steps), dice.dropout(*where)
        descend = partial(self.path.descend, start, x, y, order, steps, steps.rate(self.round))
        self.descents += 1
        self.seen += samples_seen(len(x), steps)
        return descend(toward=toward, pull=pull, only=self._mask(only), seed=seed)

    def _mask(self, only: NDArray[np.bool_] | slice | None) -> NDArray[np.bool_] | None:
        if not isinstance(only, slice):
            return only
        mask = np.zeros(self.path.layout.size, dtype=bool)
        mask[only] = True
        return mask


@dataclass(frozen=True, eq=False)
class Own(OwnSamples):
    """What a client at home finds out on its training samples; each look is counted."""

    home: Home

    def __len__(self) -> int:
        return len(self.home.samples[0])

    def losses(self, model: Flat, some: Ids | None = None) -> Float[np.ndarray, " samples"]:
        return np.asarray(self.home.path.losses(model, *self._seen(some)), dtype=np.float64)

    def gradient(self, model: Flat, some: Ids | None = None) -> Flat:
        return self.home.path.gradient(model, *self._seen(some))

    def inputs(self, model: Flat) -> Mapping[str, Inputs]:
        return self.home.path.inputs(model, self._seen(None)[0])

    def _seen(self, some: Ids | None) -> Samples:
        x, y = self.home.samples
        found = (x, y) if some is None else (x[some], y[some])
        self.home.seen += len(found[0])
        return found


def judged(path: Path, samples: Samples, before: Flat, after: Flat, wants: frozenset[str]) -> dict[str, float]:
    """The losses that a plan wants; how much of the machine was used is told by who runs it."""
    models = dict(zip(LOSSES, (before, after), strict=True))
    if unknown := wants - {*LOSSES, *USE}:
        raise ValueError(f"plan: nobody can tell '{min(unknown)}' of a training; it may want {', '.join((*LOSSES, *USE))}")
    return {name: mean_loss(path, models[name], samples) for name in sorted(wants & models.keys())}


def mean_loss(path: Path, model: Flat, samples: Samples) -> float:
    """The mean loss over some samples."""
    return float(path.losses(model, *samples).mean(dtype=np.float64))


def samples_seen(samples: int, steps: Steps) -> int:
    """How many samples a descent passes.

    >>> samples_seen(5, Steps(epochs=2, batch_size=2)), samples_seen(5, Steps(epochs=2, batch_size=2, max_steps=4))
    (10, 7)
    """
    if steps.max_steps is None:
        return steps.epochs * samples
    epochs, batches = divmod(steps.max_steps, -(-samples // steps.batch_size))
    return samples * steps.epochs if epochs >= steps.epochs else epochs * samples + batches * steps.batch_size
