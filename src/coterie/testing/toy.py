"""A federation for tests: in memory, without torch, with real questions, absent clients and broken replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie import seeds
from coterie.federation import Descent, Federation, Local, Scores, Split, Steps, View
from coterie.mixing import Merge
from coterie.plan import USE, Plan
from coterie.replies import Meter, Replies, Reply, admit
from coterie.roster import Roster
from coterie.testing.answers import ToyAsk
from coterie.testing.linear import Flat, Linear, Samples, ToySamples

SPLITS: tuple[Split, ...] = ("train", "holdout", "test")


@dataclass(frozen=True)
class Chances:
    """How often things go right in a toy world: 1 for always."""

    present: float = 1.0
    answering: float = 1.0
    """That a client that is present answers a question; those absent never do."""
    replying: float = 1.0
    """That a trainer's model arrives."""
    sound: float = 1.0
    """That it is finite when it does."""


CALM = Chances()
ROUGH = Chances(present=0.6, answering=0.8, replying=0.7, sound=0.8)


class Toy(Federation):
    """A few clients, each with samples of some classes around Gaussian centers, who train a linear classifier.

    >>> from coterie import play, uniform
    >>> fed = Toy(clients=6, seed=1)
    >>> [record.round for record in play(uniform(per_round=2), fed, rounds=3)]
    [1, 2, 3]
    """

    def __init__(self, clients: int = 12, seed: int = 0, chances: Chances = CALM, features: int = 3, classes: int = 3) -> None:
        self.model, self.layout = Linear(features, classes), Linear(features, classes).layout
        self.seed, self.chances, self.classes = seed, chances, classes
        rng = seeds.rng(seed, "toy")
        centers = 2 * rng.standard_normal((classes, features))
        self.samples = [self._samples(rng, centers) for _ in range(clients)]
        size = [len(samples["train"][1]) for samples in self.samples]
        speed = np.exp(rng.standard_normal(clients))
        names = ("cpu", "ram", "bandwidth", "latency")
        machine = dict(zip(names, np.exp(seeds.rng(seed, "toy machines").standard_normal((4, clients))), strict=True))
        sizes = np.array(size, np.int64)
        self.roster = Roster.of([f"client-{k}" for k in range(clients)], size=sizes, speed=speed, **machine)
        self.models = _locked(0.1 * rng.standard_normal((1, self.layout.size)).astype(np.float32))
        self.follows = np.zeros(clients, np.intp)
        self.held = dict[int, Flat]()
        self.kept = dict[int, dict[str, Flat]]()
        self.round = 0
        self.ask = ToyAsk(self)
        self._plan: Plan | None = None

    def __repr__(self) -> str:
        return f"{len(self.roster)} clients, seed {self.seed}, {self.chances}"

    @staticmethod
    def _samples(rng: np.random.Generator, centers: NDArray[np.float64]) -> dict[Split, Samples]:
        shares = rng.dirichlet(np.full(len(centers), 0.5))
        made: dict[Split, Samples] = {}
        for split, most in zip(SPLITS, (20, 6, 10), strict=True):
            y = rng.choice(len(centers), int(rng.integers(2, most)), p=shares)
            made[split] = ((centers[y] + rng.standard_normal((len(y), centers.shape[1]))).astype(np.float32), y)
        return made

    def happens(self, chance: float, what: str, t: int) -> NDArray[np.bool_]:
        """For each client whether something happens in a round."""
        return np.asarray(seeds.rng(self.seed, t, what).random(len(self.roster)) < chance)

    def view(self, t: int) -> View:
        self.ask.open(t)
        present = _locked(np.flatnonzero(self.happens(self.chances.present, "present", t)))
        return View(t, self.roster, present, self.models, _locked(self.follows), self.layout, self.ask, self.seed)

    def local(self, client: int, row: int = 0, t: int = 1) -> Local:
        """What a backbone sees at a client."""
        descents = iter(range(1000))

        def descend(start: Flat, steps: Steps, **how: Any) -> Descent:
            rng = seeds.rng(self.seed, t, self.roster.keys[client], "descend", next(descents))
            return self.model.descend(start, self.samples[client]["train"], rng, steps, steps.rate(t), **how)

        kept = {name: _locked(array) for name, array in self.kept.get(client, {}).items()}
        own, dice = ToySamples(self.model, self.samples[client]["train"]), seeds.rng(self.seed, t, client, "backbone")
        return Local(_locked(self.models[row]), kept, t, self.layout, descend, own, dice)

    def train(self, plan: Plan) -> Replies:
        self._plan, t = plan, self.round + 1
        arrives = self.happens(self.chances.replying, "replying", t) & self.happens(self.chances.present, "present", t)
        sound = self.happens(self.chances.sound, "sound", t)
        replies, lost = [], {}
        for client, row in zip(plan.trainers.tolist(), plan.start.tolist(), strict=True):
            if not arrives[client]:
                lost[client] = "no answer"
                continue
            reply = self._reply(plan, client, row, t)
            replies.append(reply if sound[client] else Reply(client, reply.model * np.float32("nan"), reply.count, t))
        sent = 4 * self.models.shape[1]
        self.ask.spend(down={"model": sent * len(plan.trainers)}, up={"model": sent * len(replies)}, messages=len(replies))
        return _read_only(
            admit(plan, self.models, t, replies, lost=lost, duration=max((r.seconds for r in replies), default=0.0))
        )

    def _reply(self, plan: Plan, client: int, row: int, t: int) -> Reply:
        local = self.local(client, row, t)
        trained = plan.backbone.train(local)
        self.held[client], self.kept[client] = trained.share, dict(trained.keep)
        judged = {"loss_before": self.models[row], "loss_after": trained.share}
        gauge = seeds.rng(self.seed, t, client, "gauge")
        told = {name: float(gauge.choice([-1, gauge.random()], p=[0.1, 0.9])) for name in USE if name in plan.wants}
        for name in plan.wants & judged.keys():
            told[name] = float(self.model.losses(judged[name], self.samples[client]["holdout"]).mean())
        count = int(self.roster["size"][client])
        seconds = float(count / self.roster["speed"][client])
        facts = {} if plan.quiet else {**trained.facts, **told}
        return Reply(client, trained.share, 1 if plan.quiet else count, t, facts, seconds)

    def adopt(self, merge: Merge, replies: Replies) -> None:
        assert self._plan is not None, "train before adopt"
        self.models = _locked(merge.apply(replies.models, self.models[self._plan.keeps]))
        self.follows = np.zeros(len(self.roster), np.intp) if self._plan.follows is None else self._plan.follows.copy()
        self.round, self._plan = self.round + 1, None

    def scores(self) -> Scores:
        hits, losses = [], []
        for samples, row in zip(self.samples, self.follows.tolist(), strict=True):
            x, y = samples["test"]
            hits.append(float((self.model.outputs(self.models[row], x).argmax(axis=1) == y).mean()))
            losses.append(float(self.model.losses(self.models[row], (x, y)).mean()))
        mean = [float(np.mean(values)) if values else float("nan") for values in (hits, losses)]
        return Scores(mean[0], mean[1], {"accuracy": np.array(hits)})

    def meter(self) -> Meter:
        return self.ask.meter

    def state(self) -> dict[str, Any]:
        budget = self.ask.budget.state()
        held = {"models": self.models, "follows": self.follows, "held": self.held, "kept": self.kept, "round": self.round}
        return {"budget": budget} | {name: dict(value) if isinstance(value, dict) else value for name, value in held.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.ask.budget.restore(state["budget"])
        for name, value in state.items():
            if name == "budget":
                continue
            setattr(self, name, dict(value) if isinstance(value, dict) else value)


def _locked(array: NDArray[Any]) -> Any:
    locked = np.array(array)
    locked.flags.writeable = locked.size == 0  # NumPy does not permute a locked array of nothing
    return locked


def _read_only(replies: Replies) -> Replies:
    for array in (replies.clients, replies.models, replies.counts, replies.seconds, *replies.facts.values()):
        array.flags.writeable = False
    return replies
