"""What trains and answers: the simulation, or Flower; and the window through which a rule sees it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float, Float32
from numpy.typing import ArrayLike, NDArray

from coterie import seeds
from coterie.mixing import Merge
from coterie.plan import Plan, Why
from coterie.probe import Blur, Probe
from coterie.replies import Meter, Replies
from coterie.report import Report
from coterie.roster import Ids, Roster

if TYPE_CHECKING:
    from coterie.rules import Backbone

if TYPE_CHECKING:
    from coterie.rules import Backbone

Split = Literal["holdout", "train", "test"]


@dataclass(frozen=True)
class Layout:
    """What the coordinates of a flat model mean: parameters (and float buffers) in order.

    >>> layout = Layout(("0.weight", "0.bias", "1.weight", "1.bias"), ((3, 4), (3,), (2, 3), (2,)))
    >>> layout.size, layout.head, layout.featurizer
    (23, slice(15, 23, None), slice(0, 15, None))
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    buffers: frozenset[str] = frozenset()
    """Names of what is no parameter: running statistics of normalization layers."""

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where each array lies in the flat model."""
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in self.shapes)]).tolist()
        return {name: slice(ends[i], ends[i + 1]) for i, name in enumerate(self.names)}

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    @property
    def layers(self) -> dict[str, slice]:
        """Where each layer lies: its weights and bias side by side."""
        spans: dict[str, slice] = {}
        for name, where in self.slices.items():
            layer = name.rpartition(".")[0]
            spans[layer] = slice(spans[layer].start if layer in spans else where.start, where.stop)
        return spans

    @property
    def head(self) -> slice:
        """The last layer: the classifier."""
        return list(self.layers.values())[-1]

    @property
    def featurizer(self) -> slice:
        """The last layer before the classifier; the classifier itself where there is no other."""
        return list(self.layers.values())[-2:][0]

    def split(self, flat: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        """The arrays of a flat model, as views."""
        return {name: flat[where].reshape(shape) for (name, where), shape in zip(self.slices.items(), self.shapes, strict=True)}


class Ask(ABC):
    """Questions that clients answer on their own data. Every answer is metered.

    A question is a pair: which client answers, and about which model. So "each of these clients about the
    global model" and "j about i's model" (one answer an edge) are the same call with other `about` rows.
    `among` says whose rows `about` counts: today's models, or models that replies just brought.
    """

    @abstractmethod
    def losses(
        self,
        clients: ArrayLike,
        about: ArrayLike = 0,
        *,
        among: Replies | None = None,
        split: Split = "holdout",
        batch: int | None = None,
    ) -> Float[np.ndarray, " questions"]:
        """Mean losses in evaluation mode; over one random mini-batch if `batch` is given.

        A client that holds nothing of the split answers on its training samples; one that cannot answer gives NaN.
        """

    @abstractmethod
    def gradients(
        self,
        clients: ArrayLike,
        about: ArrayLike = 0,
        *,
        among: Replies | None = None,
        part: slice | None = None,
        batch: int | None = None,
        blur: Blur | None = None,
    ) -> Float32[np.ndarray, "questions part"]:
        """Gradients of the mean training loss, of the whole model or a part of it; NaN rows for clients that cannot answer.

        With a `blur` each is clipped and noised by its client before it leaves; what that spends is metered.
        """

    @abstractmethod
    def probe(
        self, clients: ArrayLike, probe: Probe, about: ArrayLike = 0, *, split: Split = "holdout"
    ) -> Float[np.ndarray, "questions directions"]:
        """How the mean loss changes when the last layer (`Layout.head`) moves along the probe's directions.

        One model down unless held, eight bytes a direction up, an evaluation a direction and one for the model
        unmoved; what a private probe spends is metered. NaN rows for clients that cannot answer.
        """

    def trained(self, clients: ArrayLike, backbone: Backbone, about: ArrayLike = 0) -> Float32[np.ndarray, "questions dim"]:
        """What clients make of models that they are sent, trained as in the round; nothing of it stays with them.

        One model down and one up for each, and a whole training; NaN rows for clients that cannot answer.
        """
        raise ValueError("trains: nobody trains a neighbor's model in this federation; use the simulation, or trains = 'own'")

    @abstractmethod
    def reports(
        self, clients: ArrayLike, report: Report, about: ArrayLike = 0, *, among: Replies | None = None
    ) -> Float[np.ndarray, "questions numbers"]:
        """Numbers that clients tell of themselves, each in its bounds and under its noise before it leaves them.

        A report that needs a model is about today's row, or about a reply. Only what is told for the first time costs
        anything: bytes, evaluations, privacy. NaN rows for clients that cannot answer, or have spent what they may.
        """

    def passes(self, kind: str, messages: int, numbers: int) -> None:
        """Meters messages of so many numbers, of eight bytes each, that clients send one another of what they found at home."""
        del kind, messages, numbers

    @abstractmethod
    def models(self, clients: ArrayLike) -> Float32[np.ndarray, "clients dim"]:
        """The models that clients hold: their personal ones where there are N rows, else the last they trained."""

    @abstractmethod
    def label_counts(self, clients: ArrayLike) -> NDArray[np.int64]:
        """How many training samples of each class clients hold: clients × classes."""

    def words(self, speakers: ArrayLike, about: ArrayLike, seen: ArrayLike) -> Float[np.ndarray, " words"]:
        """What speakers say of others from what they have `seen` of them, in [0, 1]: the truth, if they are honest.

        Words travel with replies, and are not metered.
        """
        return np.asarray(seen, np.float64)


@dataclass(frozen=True, eq=False)
class View:
    """The window that a rule gets onto a round. No ground truth can be reached through it."""

    round: int
    roster: Roster
    present: Ids
    """Who can be reached this round."""
    models: Float32[np.ndarray, "rows dim"]
    """Today's models: one row, or as many as there are coalitions or clients. Read-only."""
    follows: NDArray[np.intp]
    """For each client the row of today's models that it follows."""
    layout: Layout
    ask: Ask
    seed: int
    purpose: str = "round"
    _notes: dict[str, tuple[Ids, NDArray[Any]]] = field(default_factory=dict, repr=False)

    def towards(self, purpose: str) -> View:
        """The same window with dice of its own."""
        return replace(self, purpose=purpose, _notes={})

    @cached_property
    def rng(self) -> np.random.Generator:
        """Dice derived from (seed, round, purpose)."""
        return seeds.rng(self.seed, self.round, self.purpose)

    def note(self, candidates: ArrayLike, **columns: ArrayLike) -> None:
        """Writes down what a decision looked at: one value a candidate, for the decision log."""
        ids = np.asarray(candidates, dtype=np.intp)
        for name, values in columns.items():
            self._notes[name] = (ids, np.broadcast_to(np.asarray(values), ids.shape).copy())

    @property
    def why(self) -> Why:
        """All notes as one table, NaN where a candidate has no value."""
        if not self._notes:
            return Why()
        everyone = np.unique(np.concatenate([ids for ids, _ in self._notes.values()]))
        columns = {}
        for name, (ids, values) in self._notes.items():
            column = np.full(len(everyone), np.nan)
            column[np.searchsorted(everyone, ids)] = values
            columns[name] = column
        return Why(everyone, columns)


@dataclass(frozen=True, eq=False)
class Scores:
    """How good today's models are, on data that no rule has seen."""

    accuracy: float
    """On the global test set; with several models the mean over clients of their model's. NaN for regression."""
    loss: float
    clients: Mapping[str, Float[np.ndarray, " clients"]] = field(default_factory=dict)
    """Per client on its own test data: 'accuracy' (or 'loss' for regression) of the model it follows,
    and for personal models 'accuracy_trained', before mixing, after local training."""


class Federation(ABC):
    """Clients, their data, and whatever lies between. `play` drives it."""

    roster: Roster
    layout: Layout
    models: Float32[np.ndarray, "rows dim"]
    """Today's models; behind each the numbers that the backbone shares beside it, if there are any."""
    seed: int
    round: int = 0
    """Completed rounds."""

    def make_room(self, backbone: Backbone) -> None:
        """Puts behind every model what a backbone shares beside it. `play` does so before the first round."""
        beside, there = backbone.beside(self.layout, self.seed), self.models.shape[1] - self.layout.size
        if there == len(beside):
            return
        if there:
            raise ValueError(f"backbone: it shares {len(beside)} numbers beside a model, but {there} are there already")
        wide = np.hstack([self.models, np.tile(beside, (len(self.models), 1))])
        wide.flags.writeable = False
        self.models = wide

    @abstractmethod
    def view(self, t: int) -> View:
        """Opens round t."""

    @abstractmethod
    def train(self, plan: Plan) -> Replies:
        """Has the trainers train and brings their replies."""

    @abstractmethod
    def adopt(self, merge: Merge, replies: Replies) -> None:
        """Makes the replies tomorrow's models and closes the round."""

    @abstractmethod
    def scores(self) -> Scores | None:
        """How good the models are now; None in a round that is not evaluated."""

    @abstractmethod
    def meter(self) -> Meter:
        """What crossed in this round so far."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Everything that a later round depends on, as a tree of arrays and plain values."""

    @abstractmethod
    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes back to a `state`."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """What enters one layer, over some samples: mean and variance, channel by channel."""

    mean: Float[np.ndarray, " channels"]
    variance: Float[np.ndarray, " channels"]


class OwnSamples(ABC):
    """What a client can find out about models on the samples that it trains on; all in evaluation mode.

    `some` are numbers of samples, counted from 0; all if None.
    """

    @abstractmethod
    def __len__(self) -> int:
        """How many there are."""

    @abstractmethod
    def losses(self, model: Float32[np.ndarray, " dim"], some: Ids | None = None) -> Float[np.ndarray, " samples"]:
        """The loss of each."""

    @abstractmethod
    def gradient(self, model: Float32[np.ndarray, " dim"], some: Ids | None = None) -> Float32[np.ndarray, " dim"]:
        """The gradient of their mean loss; 0 for running statistics."""

    @abstractmethod
    def inputs(self, model: Float32[np.ndarray, " dim"]) -> Mapping[str, Inputs]:
        """What enters each layer, by the layer's name in the layout."""


@dataclass(frozen=True, eq=False)
class Local:
    """What a backbone sees: one client, at home, with the model it received.

    `descend` is the engine's; it takes the fastest path that the model has and gives the same result on each.
    """

    model: Float32[np.ndarray, " dim"]
    """The model received."""
    kept: Mapping[str, Float32[np.ndarray, " dim"]]
    """What stayed at this client since it last trained; empty at first."""
    round: int
    layout: Layout
    descend: Callable[..., Descent]
    """`descend(start, steps, toward=…, pull=…, only=…)`: mini-batch descent from a model; see `Steps`."""
    samples: OwnSamples
    """For backbones that want more than a descent."""
    dice: np.random.Generator
    """The client's own of this round, for what is no descent."""


@dataclass(frozen=True)
class Steps:
    """How far and how fast a client descends.

    >>> Steps(lr=0.1, halve_at=(150, 300)).rate(151)
    0.05
    """

    epochs: int = 5
    batch_size: int = 64
    lr: float = 0.01
    momentum: float = 0.0
    weight_decay: float = 0.0
    max_steps: int | None = None
    """Ends after so many mini-batches, in the middle of an epoch if need be."""
    halve_at: tuple[int, ...] = ()
    """Rounds after which the learning rate is halved."""
    decay: float = 1.0
    """The learning rate is multiplied by this every round."""

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("epochs", "a whole number from 1", self.epochs >= 1),
            ("batch_size", "a whole number from 1", self.batch_size >= 1),
            ("lr", "a number above 0", self.lr > 0),
            ("momentum", "in [0, 1)", 0 <= self.momentum < 1),
            ("weight_decay", "a number from 0", self.weight_decay >= 0),
            ("max_steps", "a whole number from 1", self.max_steps is None or self.max_steps >= 1),
            ("decay", "in (0, 1]", 0 < self.decay <= 1),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")

    def rate(self, round: int) -> float:
        """The learning rate of a round."""
        halvings = sum(round > turn for turn in self.halve_at)
        return float(self.lr * 0.5**halvings * self.decay ** (round - 1))


@dataclass(frozen=True, eq=False)
class Descent:
    """Where a descent ended, and the losses that it passed on its way."""

    model: Float32[np.ndarray, " dim"]
    loss: float
    """Mean over the samples seen, each at the model of its step."""
    loss_rms: float
    """Root mean square over the same."""
