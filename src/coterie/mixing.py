"""What replies become: weights on the plan's support, or a map that weights cannot write."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray
from scipy import sparse

from coterie.plan import Plan
from coterie.replies import Replies

CROWDED = 2**17
"""So many weights may be worth a dense matrix."""


class Merge(ABC):
    """A map from the replied models to tomorrow's; `Mixing` is the linear case."""

    @property
    def doubted(self) -> Mapping[int, str]:
        """Clients whose replies have no influence because they are not believed, with the reason."""
        return {}

    @property
    def shares(self) -> sparse.csr_array | None:
        """Targets × replies: how much of each target each reply is; None where weights cannot say."""
        return None

    @abstractmethod
    def apply(
        self, models: Float32[np.ndarray, "replies dim"], kept: Float32[np.ndarray, "targets dim"]
    ) -> Float32[np.ndarray, "targets dim"]:
        """Makes tomorrow's models of the replied ones; `kept` is what each target falls back on."""

    @abstractmethod
    def uses(self) -> NDArray[np.bool_]:
        """Whose reply had any influence, one flag a reply."""

    @abstractmethod
    def check(self, plan: Plan, replies: Replies) -> None:
        """Raises ValueError if it uses what the plan did not let a target hear."""


@dataclass(frozen=True, eq=False)
class Mixing(Merge):
    """A sparse matrix, targets × replies, whose rows sum to 1; an empty row keeps the model it had."""

    weights: sparse.csr_array

    @property
    def shares(self) -> sparse.csr_array:
        return self.weights

    def apply(
        self, models: Float32[np.ndarray, "replies dim"], kept: Float32[np.ndarray, "targets dim"]
    ) -> Float32[np.ndarray, "targets dim"]:
        mixed = np.array(kept, dtype=np.float32)
        hearing = np.diff(self.weights.indptr) > 0
        if hearing.any():
            mixed[hearing] = product(self.weights[hearing].astype(np.float32), models)
        return mixed

    def times(self, factors: sparse.csr_array) -> Mixing:
        """The same weights times some factors, each row again summing to 1."""
        if factors.dtype == bool:
            return self
        return rows_to_one(sparse.csr_array(self.weights.multiply(factors)))

    def uses(self) -> NDArray[np.bool_]:
        used = np.zeros(self.weights.shape[1], dtype=bool)
        used[self.weights.indices[self.weights.data != 0]] = True
        return used

    def check(self, plan: Plan, replies: Replies) -> None:
        support = plan.support(replies.clients)
        if self.weights.shape != support.shape:
            raise ValueError(f"mixing: must be targets × replies, {support.shape}, not {self.weights.shape}")
        if not np.isfinite(self.weights.data).all() or (self.weights.data < 0).any():
            raise ValueError("mixing: weights must be finite and not negative")
        sums = np.asarray(self.weights.sum(axis=1)).ravel()
        wrong = (np.abs(sums - 1) > 1e-6) & (np.diff(self.weights.indptr) > 0)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ValueError(f"mixing: row {row} sums to {sums[row]:.9g}, not to 1")
        if _leaks(self.weights, support):
            raise ValueError("mixing: a weight lies where the plan allowed no hearing")


@dataclass(frozen=True, eq=False)
class Statistic(Merge):
    """A statistic of the models that each target hears, such as the median: what weights cannot write."""

    support: sparse.csr_array
    """Targets × replies: what goes into each target's statistic."""
    of: Callable[[Float32[np.ndarray, "heard dim"]], Float32[np.ndarray, " dim"]]
    """Makes one model of one or more."""

    def apply(
        self, models: Float32[np.ndarray, "replies dim"], kept: Float32[np.ndarray, "targets dim"]
    ) -> Float32[np.ndarray, "targets dim"]:
        made = np.array(kept, dtype=np.float32)
        done: dict[bytes, int] = {}
        for target, (start, end) in enumerate(pairwise(self.support.indptr)):
            heard = self.support.indices[start:end]
            if len(heard):
                twin = done.setdefault(heard.tobytes(), target)
                made[target] = self.of(models[heard]) if twin == target else made[twin]
        return made

    def uses(self) -> NDArray[np.bool_]:
        used = np.zeros(self.support.shape[1], dtype=bool)
        used[self.support.indices] = True
        return used

    def check(self, plan: Plan, replies: Replies) -> None:
        support = plan.support(replies.clients)
        if self.support.shape != support.shape:
            raise ValueError(f"statistic: must be targets × replies, {support.shape}, not {self.support.shape}")
        if _leaks(self.support, support):
            raise ValueError("statistic: it takes in what the plan allowed no hearing of")


@dataclass(frozen=True, eq=False)
class Taught(Merge):
    """A mixing, row by row, of what those heard made of the row's own model, not of what they replied."""

    mixing: Mixing
    made: Float32[np.ndarray, "targets dim"]
    """Tomorrow's models, where a row hears anybody."""

    @property
    def shares(self) -> sparse.csr_array:
        return self.mixing.weights

    def apply(
        self, models: Float32[np.ndarray, "replies dim"], kept: Float32[np.ndarray, "targets dim"]
    ) -> Float32[np.ndarray, "targets dim"]:
        hearing = np.diff(self.mixing.weights.indptr) > 0
        return np.where(hearing[:, np.newaxis], self.made, kept).astype(np.float32)

    def uses(self) -> NDArray[np.bool_]:
        return self.mixing.uses()

    def check(self, plan: Plan, replies: Replies) -> None:
        self.mixing.check(plan, replies)


@dataclass(frozen=True, eq=False)
class Partly(Merge):
    """Another map for all but a part of the coordinates, which stay what each target's own client trained."""

    inner: Merge
    part: slice
    own: NDArray[np.intp]
    """For each target the place of its own client's reply; -1 where there is none, and the part stays as it was."""

    @property
    def shares(self) -> sparse.csr_array | None:
        return self.inner.shares

    def apply(
        self, models: Float32[np.ndarray, "replies dim"], kept: Float32[np.ndarray, "targets dim"]
    ) -> Float32[np.ndarray, "targets dim"]:
        made, came = self.inner.apply(models, kept), self.own >= 0
        made[:, self.part] = kept[:, self.part]
        made[came, self.part] = models[self.own[came], self.part]
        return made

    def uses(self) -> NDArray[np.bool_]:
        used = self.inner.uses()
        used[self.own[self.own >= 0]] = True
        return used

    def check(self, plan: Plan, replies: Replies) -> None:
        self.inner.check(plan, replies)
        if not np.array_equal(self.own, plan.own(replies.clients)):
            raise ValueError("mixing: what is a client's own must be its own reply's")


@dataclass(frozen=True, eq=False)
class Chained(Merge):
    """One map after another: members into coalitions, coalitions into one."""

    first: Merge
    groups: int
    """Models that `first` makes."""
    second: Merge
    influence: sparse.csr_array
    """Groups × replies: which replies flow into which group."""

    def apply(
        self, models: Float32[np.ndarray, "replies dim"], kept: Float32[np.ndarray, "targets dim"]
    ) -> Float32[np.ndarray, "targets dim"]:
        return self.second.apply(self.first.apply(models, np.repeat(kept[:1], self.groups, axis=0)), kept)

    def uses(self) -> NDArray[np.bool_]:
        reached = np.asarray(self.influence[self.second.uses()].sum(axis=0)).ravel() > 0
        return self.first.uses() & reached

    def check(self, plan: Plan, replies: Replies) -> None:
        if plan.support(replies.clients).shape != (1, len(self.uses())):
            raise ValueError("chained mixing: the plan must have one target and a column for every reply")


@dataclass(frozen=True, eq=False)
class Among(Merge):
    """A map of those replies only that are believed."""

    inner: Merge
    believed: NDArray[np.bool_]
    """One flag a reply."""
    reasons: Mapping[int, str]
    """Why the others are not."""

    @property
    def doubted(self) -> Mapping[int, str]:
        return self.reasons

    @property
    def shares(self) -> sparse.csr_array | None:
        inner = self.inner.shares
        if inner is None:
            return None
        cells, places = inner.tocoo(), np.flatnonzero(self.believed)
        return sparse.csr_array((cells.data, (cells.row, places[cells.col])), shape=(inner.shape[0], len(self.believed)))

    def apply(
        self, models: Float32[np.ndarray, "replies dim"], kept: Float32[np.ndarray, "targets dim"]
    ) -> Float32[np.ndarray, "targets dim"]:
        return self.inner.apply(models[self.believed], kept)

    def uses(self) -> NDArray[np.bool_]:
        used = np.zeros(len(self.believed), dtype=bool)
        used[self.believed] = self.inner.uses()
        return used

    def check(self, plan: Plan, replies: Replies) -> None:
        self.inner.check(plan, replies.only(self.believed))


def chain(first: Merge, second: Merge, influence: sparse.csr_array) -> Merge:
    """The second map of what the first makes: for two mixings the product of their matrices."""
    if isinstance(first, Mixing) and isinstance(second, Mixing):
        return Mixing(sparse.csr_array(second.weights @ first.weights))
    return Chained(first, influence.shape[0], second, influence)


def product(weights: sparse.csr_array, models: Float32[np.ndarray, "replies dim"]) -> Float32[np.ndarray, "targets dim"]:
    """Weights times models; where there are many weights and few zeros, as a dense matrix, which is many times as fast."""
    rows, columns = weights.shape
    crowded = weights.nnz >= CROWDED and weights.nnz * 8 >= rows * columns
    return np.asarray((weights.toarray() if crowded else weights) @ models)


def _leaks(weights: sparse.csr_array, support: sparse.csr_array) -> bool:
    inside = weights.multiply(support)
    return bool(sparse.csr_array(inside).count_nonzero() < weights.count_nonzero())


def rows_to_one(raw: sparse.csr_array) -> Mixing:
    """Scales each row of non-negative weights to sum to 1; a row without weight stays empty."""
    weights = sparse.csr_array(raw, dtype=np.float64, copy=True)
    weights.eliminate_zeros()
    sums = np.asarray(weights.sum(axis=1)).ravel()
    weights.data /= np.repeat(sums, np.diff(weights.indptr))
    return Mixing(weights)
