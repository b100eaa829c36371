"""What is decided before training: who trains, from which model, who hears whom, by which route."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from coterie.roster import Ids

Route = Literal["star", "leaders", "peers"]
Hears: TypeAlias = sparse.csr_array
"""A boolean matrix, targets × trainers: which trained models a target may be made of."""
LOSSES = ("loss_before", "loss_after")
"""Facts of a training that a plan may want: mean losses of the model received and sent, on the hold-out, in evaluation mode."""
USE = ("use_cpu", "use_ram", "use_bandwidth")
"""And these: how much of its machine the device gave to the training, in [0, 1]; −1 where the device cannot tell."""


@dataclass(frozen=True, eq=False)
class Coalitions:
    """A partition of the clients into groups, with leaders and a stability verdict where there are any."""

    labels: NDArray[np.intp]
    """For each client the number of its coalition, 0…k−1, or −1 for one in no coalition."""
    leaders: Ids | None = None
    """For each coalition the client that leads it."""
    certificate: Mapping[str, Any] = field(default_factory=dict)
    goes_on: NDArray[np.intp] | None = None
    """For each coalition the row of today's models that it goes on from; None: the one that most members followed."""
    stand_ins: Ids | None = None
    """For each coalition the member that gathers the others' models should its leader fail in the round, −1 for nobody."""

    def __post_init__(self) -> None:
        labels = np.asarray(self.labels, dtype=np.intp)
        used = np.unique(labels[labels >= 0])
        if not np.array_equal(used, np.arange(len(used))):
            raise ValueError(f"coalitions: labels must run from 0 without gaps (or be -1), not {used.tolist()[:8]}")
        if self.leaders is not None:
            leaders = np.asarray(self.leaders, dtype=np.intp)
            if leaders.shape != used.shape or not np.array_equal(labels[leaders], used):
                raise ValueError("coalitions: each coalition needs one leader, who belongs to it")
            object.__setattr__(self, "leaders", leaders)
        if self.goes_on is not None and np.shape(self.goes_on) != used.shape:
            raise ValueError(f"coalitions: each of {len(used)} goes on from one model, not {np.shape(self.goes_on)}")
        if self.stand_ins is not None:
            second = np.asarray(self.stand_ins, dtype=np.intp)
            named = second >= 0
            if self.leaders is None or second.shape != used.shape or not np.array_equal(labels[second[named]], used[named]):
                raise ValueError("coalitions: a stand-in stands behind a leader, and belongs to the same coalition")
            object.__setattr__(self, "stand_ins", second)
        object.__setattr__(self, "labels", labels)

    def __len__(self) -> int:
        return int(self.labels.max(initial=-1)) + 1

    def members(self, coalition: int) -> Ids:
        """The clients of one coalition."""
        return np.flatnonzero(self.labels == coalition)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Members of each coalition."""
        return np.bincount(self.labels[self.labels >= 0], minlength=len(self))


@dataclass(frozen=True, eq=False)
class Why:
    """Why a plan is as it is: for each candidate that was looked at, its score and the score's parts."""

    candidates: Ids = field(default_factory=lambda: np.empty(0, np.intp))
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def column(self, name: str, clients: int) -> NDArray[np.float64]:
        """One value for each client of the roster, NaN where nothing was noted."""
        values = np.full(clients, np.nan)
        if name in self.columns:
            values[self.candidates] = self.columns[name]
        return values


@dataclass(frozen=True, eq=False)
class Plan:
    """Who trains from which model, and whose result may flow where.

    A plan is the support of a matrix; a `Mixing` is its weights. Trainers are kept in key order.
    """

    trainers: Ids
    """Who is asked to train."""
    start: NDArray[np.intp]
    """For each trainer the row of today's models that it starts from."""
    hears: Hears
    """For each of tomorrow's models the trainers it may be made of."""
    keeps: NDArray[np.intp]
    """For each of tomorrow's models the row of today's that it falls back on when it hears nobody."""
    backbone: Any
    """How a trainer trains: a `Backbone`."""
    route: Route = "star"
    """Who carries the models, and so who pays for the bytes."""
    follows: NDArray[np.intp] | None = None
    """For each client of the roster which of tomorrow's models it follows; None: all the first."""
    coalitions: Coalitions | None = None
    """The coalitions behind the plan; by the route 'leaders' their leaders gather the members' models."""
    wants: frozenset[str] = frozenset()
    """Facts that a reply must bring besides the model: some of `LOSSES` and `USE`."""
    quiet: bool = False
    """Replies bring models and nothing else: every count is 1, and there are no facts. What the server may know of clients
    it is told by reports."""
    use_first: int | None = None
    """Over-selection: only so many replies are used, the earliest; None for all."""
    min_replies: int = 1
    """With fewer usable replies the round changes nothing."""
    deadline: float | None = None
    """Virtual seconds (wall-clock seconds on Flower) after which a reply is late."""
    why: Why = field(default_factory=Why)

    def __post_init__(self) -> None:
        trainers = np.asarray(self.trainers, dtype=np.intp)
        start = np.asarray(self.start, dtype=np.intp)
        keeps = np.asarray(self.keeps, dtype=np.intp)
        hears = sparse.csr_array(self.hears, dtype=bool)
        if len(np.unique(trainers)) < len(trainers):
            raise ValueError("plan: a client is asked to train twice")
        if start.shape != trainers.shape:
            raise ValueError(f"plan: {len(trainers)} trainers, but {len(start)} models to start from")
        if self.quiet and self.wants:
            raise ValueError(f"plan: replies that bring models only cannot bring '{min(self.wants)}' too")
        if self.route == "leaders" and (self.coalitions is None or self.coalitions.leaders is None):
            raise ValueError("plan: the route 'leaders' needs coalitions with leaders")
        if hears.shape != (len(keeps), len(trainers)):
            raise ValueError(f"plan: 'hears' must be targets × trainers, {(len(keeps), len(trainers))}, not {hears.shape}")
        order = np.argsort(trainers, kind="stable")
        if not np.array_equal(order, np.arange(len(order))):
            trainers, start, hears = trainers[order], start[order], sparse.csr_array(hears[:, order])
        hears.sort_indices()
        for name, value in [("trainers", trainers), ("start", start), ("keeps", keeps), ("hears", hears)]:
            object.__setattr__(self, name, value)

    @classmethod
    def star(cls, trainers: ArrayLike, backbone: Any, **settings: Any) -> Plan:
        """One global model: everybody starts from it, and it may be made of everybody's result."""
        trainers = np.asarray(trainers, dtype=np.intp)
        everybody = sparse.csr_array(np.ones((1, len(trainers)), dtype=bool))
        return cls(trainers, np.zeros(len(trainers), np.intp), everybody, np.zeros(1, np.intp), backbone, **settings)

    def beside(self, trial: Ids, clients: int) -> Plan:
        """The same plan of one global model, and beside it a trial model made of others' results, which nobody follows.

        Who is in both groups trains once. Over-selection is off, since the first replies may all be of one group.
        """
        trainers = np.union1d(self.trainers, trial)
        hears = np.stack([np.isin(trainers, self.trainers), np.isin(trainers, trial)])
        return replace(
            self,
            trainers=trainers,
            start=np.zeros(len(trainers), np.intp),
            hears=sparse.csr_array(hears),
            keeps=np.zeros(2, np.intp),
            follows=np.zeros(clients, np.intp),
            use_first=None,
        )

    def own(self, clients: Ids) -> NDArray[np.intp]:
        """For each of tomorrow's models the place, among these clients, of the one client that follows it; -1 for no such one.

        There is one where models are personal, and none where several follow a model.
        """
        places = np.full(len(self.keeps), -1, dtype=np.intp)
        if self.follows is None or not len(clients):
            return places
        followers = np.bincount(self.follows, minlength=len(self.keeps))
        rows = self.follows[clients]
        alone = followers[rows] == 1
        places[rows[alone]] = np.flatnonzero(alone)
        return places

    def support(self, clients: Ids) -> Hears:
        """`hears` with one column for each of these clients, who must be among the trainers."""
        columns = np.searchsorted(self.trainers, clients)
        if len(clients) and (columns.max() >= len(self.trainers) or not np.array_equal(self.trainers[columns], clients)):
            raise ValueError("plan: a reply comes from a client that was not asked")
        return sparse.csr_array(self.hears[:, columns])
