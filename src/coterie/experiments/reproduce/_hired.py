"""Clients of a market in an experiment: what they hold, how often they do what they are paid for, how a cohort trains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float32, Float64, Int64
from numpy.typing import NDArray

from coterie import data, seeds
from coterie.aggregators import BySize
from coterie.backbones import SGD
from coterie.data import Dataset, Partition
from coterie.federation import Steps, View
from coterie.market import Bids, Task, clear
from coterie.market.reputation import Event, Pipp
from coterie.recipe import Central, play
from coterie.replies import Reply
from coterie.roster import Ids
from coterie.rules import Selector
from coterie.simulation import World, simulate
from coterie.simulation.behaviors import Behavior, Sent
from coterie.trust.audit import Audit

STEPS = Steps(epochs=2, batch_size=32, lr=0.05)
BEFORE = 6
"""Rounds of a task that is there to make reputations."""
PIPP = Pipp()
UNIT = 100
"""Minor units in one of the source's AU."""
PRICES = (10, 40)
"""What clients ask for, in AU: uniform, as in the source's Section 5.5.6."""


@dataclass(frozen=True)
class Winners(Selector):
    """Those whom an auction chose, in every round."""

    clients: tuple[int, ...]

    def choose(self, view: View, state: Any) -> Ids:
        return np.sort(np.array(self.clients, np.intp))


@dataclass(frozen=True, eq=False)
class Shirks(Behavior):
    """Sends noise as long as an update is, instead of one: for the pay, without the work."""

    reliability: Float64[np.ndarray, " clients"]
    """Of each client, the share of rounds in which it trains."""

    def acts(self, seed: int, round: int, clients: int) -> NDArray[np.bool_]:
        return seeds.rng(seed, round, "shirks").random(clients) >= self.reliability

    def sends(self, reply: Reply, start: Float32[np.ndarray, " dim"], dice: np.random.Generator) -> Sent:
        noise = dice.standard_normal(start.size)
        noise *= np.linalg.norm(np.asarray(reply.model) - start) / np.linalg.norm(noise)
        return (replace(reply, model=(start + noise).astype(np.float32)),)


@dataclass(frozen=True)
class Blurs(Behavior):
    """Clips its update and adds Gaussian noise, scaled for one sample more or less of its own (after Wei et al., 2020).

    The noise is √(2 ln 1.25/δ) · 2·clip / (samples · ε) a coordinate, each round anew. That formula is proven for ε below 1
    only; at the source's 20 and 25 it is a scale of noise, and no guarantee.
    """

    epsilon: float
    clip: float = 2.0
    delta: float = 1e-3

    def acts(self, seed: int, round: int, clients: int) -> NDArray[np.bool_]:
        return np.ones(clients, dtype=bool)

    def sends(self, reply: Reply, start: Float32[np.ndarray, " dim"], dice: np.random.Generator) -> Sent:
        update = np.asarray(reply.model) - start
        update = update * min(1.0, self.clip / max(float(np.linalg.norm(update)), 1e-12))
        sd = np.sqrt(2 * np.log(1.25 / self.delta)) * 2 * self.clip / (max(int(reply.count), 1) * self.epsilon)
        blurred = start + update + sd * dice.standard_normal(start.size)
        return (replace(reply, model=blurred.astype(np.float32)),)


@dataclass(frozen=True, eq=False)
class People:
    """The clients of one seed."""

    dataset: Dataset
    partition: Partition
    counts: Int64[np.ndarray, "clients classes"]
    reliability: Float64[np.ndarray, " clients"]
    prices: Int64[np.ndarray, " clients"]
    seed: int

    @classmethod
    def of(cls, dataset: Dataset, alpha: float, low: float, seed: int, clients: int = 500) -> People:
        """Draws them: labels by Dirichlet(α) within each client, prices, and who is reliable.

        A share `low` trains in up to half of the rounds, the others in 95 % at least.
        """
        parted = data.inner_dirichlet(alpha).split(dataset, clients, seed)
        dice = seeds.rng(seed, "market people")
        shirks = dice.random(clients) < low
        reliability = np.where(shirks, dice.uniform(0, 0.5, clients), dice.uniform(0.95, 1, clients))
        prices = dice.integers(PRICES[0] * UNIT, PRICES[1] * UNIT + 1, clients)
        return cls(dataset, parted, parted.counts(dataset.y, dataset.classes), reliability, prices, seed)

    @property
    def reputations(self) -> Float64[np.ndarray, " clients"]:
        """Half how they behaved, half how many-sided their data are: the source's hybrid, where it is silent on the halves."""
        shares = self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1)
        entropy = -(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=1) / np.log(self.counts.shape[1])
        return np.asarray((self.reliability + entropy) / 2)

    def bids(self, reputations: Float64[np.ndarray, " clients"]) -> Bids:
        """Everybody's bid, which is its cost."""
        return Bids(prices=self.prices, reputations=reputations, counts=self.counts)


@dataclass(frozen=True)
class Course:
    """How a cohort's training went."""

    rounds: tuple[int, ...]
    everything: tuple[float, ...]
    """Accuracy on the whole test set after each of these rounds."""
    required: tuple[float, ...]
    """The same on test samples of the required classes."""
    judged: Mapping[int, tuple[int, int]]
    """By client, in how many rounds it was found honest and dishonest, where there was an audit."""


def train(
    people: People,
    winners: NDArray[np.intp],
    required: NDArray[np.bool_],
    rounds: int,
    *,
    audited: bool = False,
    blur: Blurs | None = None,
    every: int = 5,
    address: int = 0,
) -> Course:
    """Trains a cohort, all of it in every round; an audit looks on and leaves out what it doubts only if asked to."""
    from coterie.simulation.models import path_for

    behaviors: tuple[Behavior, ...] = (Shirks(people.reliability), *([blur] if blur else []))
    dataset = people.dataset
    with simulate(
        dataset,
        partition=people.partition,
        seed=people.seed + 1000 * address,
        holdout=0.0,
        world=World(behaviors=behaviors),
        workers=1,
        evaluate_every=rounds + 1,
        remember=False,
    ) as federation:
        path = path_for("mlp", dataset.shape, dataset.classes, targets=1, loss=None, device="cpu")
        recipe = Central(SGD(STEPS), BySize(), Winners(tuple(winners.tolist())), trust=Audit() if audited else None)
        seen, judged = list[tuple[int, float, float]](), dict[int, tuple[int, int]]()
        for record in play(recipe, federation, rounds):
            for client, honest in _conduct(record.answered.tolist(), record.doubted):
                good, bad = judged.get(client, (0, 0))
                judged[client] = (good + honest, bad + (not honest))
            if record.round % every == 0 or record.round == rounds:
                right = path.outputs(federation.models[0], dataset.x_test).argmax(axis=1) == dataset.y_test
                seen.append((record.round, float(right.mean()), float(right[required[dataset.y_test]].mean())))
    at, everything, of_the_task = zip(*seen, strict=True)
    return Course(at, everything, of_the_task, judged)


def _conduct(answered: list[int], doubted: Mapping[int, str]) -> Iterator[tuple[int, bool]]:
    for client in sorted({*answered, *doubted}):
        yield client, client not in doubted


@dataclass(frozen=True, eq=False)
class History:
    """Reputations as folds over what happened in task after task."""

    reputations: Float64[np.ndarray, " clients"]
    last: Ids
    """Who won the last task."""

    @classmethod
    def newcomers(cls, clients: int) -> History:
        """Nobody is known."""
        return cls(np.zeros(clients), np.empty(0, np.intp))

    @classmethod
    def established(cls, people: People, new: NDArray[np.bool_], prior: float) -> History:
        """Everybody but newcomers has trained for fifty rounds before, honestly as often as it does."""
        dice = seeds.rng(people.seed, "market past")
        honest = dice.random((len(new), 50)) < people.reliability[:, None]
        past = np.array([_fold(PIPP, row.tolist()) for row in honest])
        return cls(np.where(new, prior, past), np.empty(0, np.intp))

    def after_task(self, people: People, asked: Task, number: int) -> History:
        """Clears a task, has the winners train under audit, and moves their reputations by what it found."""
        award = clear(asked, people.bids(self.reputations), scale="market")
        course = train(people, award.winners, asked.required, BEFORE, audited=True, every=BEFORE, address=number)
        reputations = self.reputations.copy()
        for client, (honest, dishonest) in course.judged.items():
            reputations[client] = _fold(Pipp(welcome=float(reputations[client])), [False] * dishonest + [True] * honest)
        return History(reputations, award.winners)


def _fold(rules: Pipp, honest: Sequence[bool]) -> float:
    events = [Event(t, "honest" if good else "dishonest", t, "audit") for t, good in enumerate(honest, start=1)]
    return rules.fold(events).value
