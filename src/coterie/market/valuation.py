"""What a client's data is worth to a task: the Data Contribution Value Function, DCVF."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.market.bids import Bids
from coterie.market.task import Task

Scale = Literal["none", "market"]
"""How data and price are made comparable: as the source prints it, or each in units of the market's largest."""

Column = NDArray[np.float64]


def coverage(task: Task, counts: sparse.csr_array) -> Column:
    """Returns for each client the weight of the required classes it holds, as a share of all (Eq. 5.10).

    >>> task = Task(quotas=[10, 10, 0], weights=[1, 3, 9], reserve_price=1)
    >>> coverage(task, sparse.csr_array([[5, 0, 5], [1, 1, 0]])).tolist()
    [0.25, 1.0]
    """
    return _weighted(task, counts, np.ones(counts.nnz))


def sufficiency(task: Task, counts: sparse.csr_array) -> Column:
    """Returns for each client the share of every quota that it could fill alone, weighted (Eq. 5.11).

    >>> task = Task(quotas=[10, 10, 0], weights=[1, 3, 9], reserve_price=1)
    >>> sufficiency(task, sparse.csr_array([[5, 0, 5], [20, 10, 0]])).tolist()
    [0.125, 1.0]
    """
    quotas = np.maximum(task.quotas, 1)[counts.indices]
    return _weighted(task, counts, np.minimum(1.0, counts.data / quotas))


def data_value(task: Task, counts: sparse.csr_array) -> Column:
    """Returns what each client's data is worth, V = γC · ρS (Eq. 5.9).

    >>> task = Task(quotas=[10, 10], reserve_price=1)
    >>> data_value(task, sparse.csr_array([[5, 0], [5, 5]])).tolist()
    [0.125, 0.5]
    """
    return (task.coverage_weight * coverage(task, counts)) * (task.sufficiency_weight * sufficiency(task, counts))


def required_samples(task: Task, counts: sparse.csr_array) -> NDArray[np.int64]:
    """Returns for each client its samples in required classes: the plain measure that budget-feasible rules buy by."""
    wanted = counts.data * task.required[counts.indices]
    return _sums(counts, wanted).astype(np.int64)


def merit(task: Task, bids: Bids, scale: Scale) -> Column:
    """Returns the part of each score that the bidder's own price has no say in: V + αR, or V / max V + αR.

    No price enters the largest V either, so scaling leaves truthfulness as it is.
    """
    if scale not in get_args(Scale):
        raise ValueError(f"scale: '{scale}' is none of {', '.join(get_args(Scale))}")
    value = data_value(task, bids.counts)
    largest = value.max(initial=0.0)
    if scale == "market" and largest > 0:
        value = value / largest
    return value + task.reputation_weight * np.asarray(bids.reputations)


def _weighted(task: Task, counts: sparse.csr_array, parts: Column) -> Column:
    importance = task.importance
    return _sums(counts, importance[counts.indices] * parts) / math.fsum(importance)


def _sums(counts: sparse.csr_array, parts: NDArray[np.float64] | NDArray[np.int64]) -> Column:
    """Adds up each row in the order of its classes: one rounding at a time, so the same on every machine."""
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    return np.bincount(rows, weights=parts, minlength=counts.shape[0]).astype(np.float64, copy=False)
