"""What clients offer: a price for their part in a whole task, and how many samples of each class they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.market.task import LARGEST_AMOUNT, frozen, whole_numbers


@dataclass(frozen=True, kw_only=True, eq=False)
class Bids:
    """One row a bidder: what it asks, what its reputation is, how many samples of each class it holds.

    Reputation and class counts are the network owner's knowledge; only the price is the bidder's to choose.
    Prices of an integer type are whole minor units. Counts may be an array or a SciPy sparse matrix and stay sparse.

    >>> bids = Bids(prices=[12, 30], reputations=[0.4, 0.0], counts=[[50, 0], [0, 20]])
    >>> len(bids), bids.whole, bids.counts.nnz
    (2, True, 2)
    """

    prices: NDArray[np.int64] | NDArray[np.float64]
    counts: sparse.csr_array
    """bidders × classes"""
    reputations: NDArray[np.float64] | None = None
    """None: nobody has any."""

    def __post_init__(self) -> None:
        prices = np.asarray(self.prices)
        prices = prices.astype(np.int64 if prices.dtype.kind in "iu" and prices.size else np.float64)
        if prices.ndim != 1:
            raise ValueError(f"bids: prices must be a row of numbers, one a bidder, not of shape {prices.shape}")
        _check("price", prices)
        if prices.dtype == np.int64 and prices.max(initial=0) > LARGEST_AMOUNT:
            raise ValueError(f"bids: a price of {prices.max()} is over 2**53 minor units")
        reputations = np.zeros(len(prices)) if self.reputations is None else np.asarray(self.reputations, dtype=np.float64)
        if reputations.shape != prices.shape:
            raise ValueError(f"bids: {len(prices)} prices, but reputations of shape {reputations.shape}")
        _check("reputation", reputations)
        counts = _sparse(self.counts)
        if counts.shape[0] != len(prices):
            raise ValueError(f"bids: {len(prices)} prices, but counts of {counts.shape[0]} bidders")
        for name, value in [("prices", frozen(prices)), ("reputations", frozen(reputations)), ("counts", counts)]:
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.prices)

    @property
    def whole(self) -> bool:
        """Whether the prices are whole minor units."""
        return self.prices.dtype == np.int64 or not len(self)


def _sparse(counts: Any) -> sparse.csr_array:
    if not sparse.issparse(counts) and np.ndim(counts) != 2:
        raise ValueError(f"bids: counts must be bidders × classes, not of {np.ndim(counts)} dimensions")
    matrix = sparse.csr_array(counts if sparse.issparse(counts) else whole_numbers("bids: counts", counts))
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    held = whole_numbers("bids: counts", matrix.data)
    matrix = sparse.csr_array((held, matrix.indices, matrix.indptr), shape=matrix.shape)
    if matrix.nnz and not held.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix


def _check(name: str, values: NDArray[Any]) -> None:
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        raise ValueError(f"bids: {name} of bidder {wrong[0]} is {values[wrong[0]]}; it must be a finite number from 0")
