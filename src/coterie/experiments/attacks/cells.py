"""One run of the suite: some clients attack, a method plays, and the truth is held against what was found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from coterie import catalog, seeds
from coterie.aggregators import BySize
from coterie.backbones import SGD
from coterie.data import Dataset, Dirichlet, load
from coterie.federation import Steps
from coterie.recipe import Central, play
from coterie.record import Record
from coterie.selectors import Uniform
from coterie.simulation import Simulation, World, simulate
from coterie.trust import Audit

AUDIT = Audit(absolute=True)
"""In the simulation speeds are samples a second."""


@dataclass(frozen=True)
class Task:
    """What is learned, by whom and how."""

    dataset: str = "digits"
    data_dir: str | None = None
    samples: int = 6000
    """Training samples at most, drawn once."""
    tests: int = 2000
    clients: int = 100
    cohort: int = 50
    """Clients of a round, drawn uniformly."""
    lr: float = 0.2
    model: str = "mlp:32"
    share: float = 0.2
    """Of the clients attack."""
    rounds: int = 40
    window: int = 10
    """Rounds in which attackers must be found."""
    audit: Audit | None = AUDIT
    """Who finds them; nobody if None."""
    per_round: int = 10
    """Clients of a round where methods that ask clients are lied to."""

    def __post_init__(self) -> None:
        for name in ("samples", "tests", "clients", "cohort", "rounds", "window", "per_round"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: must be a whole number from 1, not {getattr(self, name)!r}")
        if self.rounds <= self.window:
            raise ValueError(f"rounds: must be above {self.window}, the rounds in which attackers must be found")

    @property
    def backbone(self) -> SGD:
        """How clients train."""
        return SGD(Steps(epochs=2, batch_size=16, lr=self.lr))

    def federation(self, attack: str, alpha: float, seed: int, lie: float = 10.0, holdout: float = 0.0) -> Simulation:
        """The federation in which some attack."""
        return simulate(
            few(self),
            partition=Dirichlet(alpha=alpha, min_size=2),
            clients=self.clients,
            seed=seed,
            model=self.model,
            holdout=holdout,
            test="same",
            world=World(attack=attack, attackers=self.share, lie=lie),
            workers=1,
            evaluate_every=self.rounds,
            remember=False,
        )


@lru_cache(maxsize=4)
def few(task: Task) -> Dataset:
    """The dataset, or so many samples of it."""
    whole = load(task.dataset, task.data_dir)
    dice = seeds.rng(0, "attack suite", task.dataset)
    train, test = (dice.permutation(len(y))[:most] for y, most in ((whole.y, task.samples), (whole.y_test, task.tests)))
    return Dataset.of(whole.name, whole.x[train], whole.y[train], whole.x_test[test], whole.y_test[test])


@dataclass(frozen=True)
class Found:
    """What came of one run of free-riders, copiers or poisoners."""

    attackers: int
    """Those who were asked within the window; who never is cannot be found."""
    caught: int
    """Attackers of whom a reply was not believed within the window."""
    honest: int
    """Likewise."""
    accused: int
    """Honest clients of whom a reply was not believed within the window."""
    excluded: int
    """Honest clients that are chosen no more at the end."""
    share: float
    """The attackers' share of the selections after the window."""
    accuracy: float
    met: np.ndarray
    """Clients × (rounds that were good, rounds that were not), as the server saw them."""
    who: np.ndarray


def run(task: Task, attack: str, alpha: float, seed: int) -> Found:
    """Plays averaging by size under the audit while some attack."""
    recipe = Central(task.backbone, BySize(), Uniform(task.cohort), trust=task.audit)
    with task.federation(attack, alpha, seed) as federation:
        who = federation.reality.attack.who(seed, task.clients)
        records = list(play(recipe, federation, task.rounds))
    doubted = [{**record.doubted, **record.rejected} for record in records]
    early = {client for one in doubted[: task.window] for client in one}
    caught = np.isin(np.arange(task.clients), list(early))
    seen = np.unique(np.concatenate([record.asked for record in records[: task.window]]))
    asked = np.concatenate([record.asked for record in records[task.window :]])
    good = np.bincount(np.concatenate([record.used for record in records]), minlength=task.clients)
    bad = np.bincount([client for one in doubted for client in one], minlength=task.clients)
    return Found(
        attackers=int(who[seen].sum()),
        caught=int(caught[who].sum()),
        honest=int((~who[seen]).sum()),
        accused=int(caught[~who].sum()),
        excluded=int(suspects(task, records[-1])[~who].sum()),
        share=float(who[asked].mean()) if len(asked) else 0.0,
        accuracy=records[-1].accuracy,
        met=np.stack([good, bad], axis=1),
        who=who,
    )


def suspects(task: Task, record: Record) -> np.ndarray:
    """Who is chosen no more."""
    if task.audit is None:
        return np.zeros(task.clients, bool)
    return task.audit.suspects(task.audit.trust(record.state["trust"]))


METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "power-of-choice": ("power-of-choice", {}),
    "rpow-d": ("power-of-choice", {"variant": "rpow-d"}),
    "active-fl": ("active-fl", {}),
    "oort": ("oort", {}),
    "volume-contribution": ("volume-contribution", {}),
    "fedcs": ("fedcs", {"passes": 2.0}),
    "fedmccs": ("fedmccs", {"passes": 2.0, "first": "speed"}),
    "server-stackelberg": ("server-stackelberg", {"passes": 2.0}),
}
"""Methods that go by what clients say, with the settings that differ from their own."""
BELIEVE: dict[str, tuple[str, ...]] = {
    "false-loss": ("power-of-choice", "rpow-d", "active-fl", "oort", "volume-contribution"),
    "false-size": ("power-of-choice", "active-fl", "oort", "volume-contribution", "server-stackelberg"),
    "false-speed": ("oort", "fedcs", "fedmccs", "server-stackelberg"),
}
"""For each lie the methods that it could move."""


def method(task: Task, name: str, audited: bool) -> Central:
    """A method of the catalog, with the audit or without."""
    base, settings = METHODS[name]
    made = catalog.method(base, per_round=task.per_round, backbone=task.backbone, settings=settings)
    assert isinstance(made, Central)
    return replace(made, trust=task.audit if audited else None)


def selections(task: Task, name: str, attack: str, lie: float, alpha: float, seed: int, audited: bool) -> int:
    """How often a method chooses those who would lie: with an attack of 'none' they tell the truth."""
    with task.federation(attack, alpha, seed, lie, holdout=0.2) as federation:
        who = federation.reality.attack.who(seed, task.clients)
        return sum(int(who[record.asked].sum()) for record in play(method(task, name, audited), federation, task.rounds))
