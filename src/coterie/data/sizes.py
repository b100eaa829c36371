"""How many samples each client gets, and how those who got too few receive more."""

from __future__ import annotations

import heapq

import numpy as np
from jaxtyping import Float, Int64
from numpy.typing import ArrayLike, NDArray

from coterie.data.scheme import Holder


def apportion(weights: ArrayLike, total: int, least: int = 0) -> Int64[np.ndarray, " clients"]:
    """Whole numbers in proportion to weights that sum to `total`, each at least `least`.

    Largest remainders get what flooring left; whoever stays below `least` receives from the largest.

    >>> apportion([1, 2, 3], 10).tolist(), apportion([0.001, 1, 1], 9, least=1).tolist()
    ([2, 3, 5], [1, 4, 4])
    """
    weights = np.asarray(weights, dtype=float)
    possible(least, len(weights), total)
    exact = weights / weights.sum() * total
    sizes: Int64[np.ndarray, " clients"] = np.floor(exact).astype(np.int64)
    leftovers = total - int(sizes.sum())
    sizes[np.argsort(sizes - exact, kind="stable")[:leftovers]] += 1
    for donor, client in gifts(sizes, least):
        sizes[donor] -= 1
        sizes[client] += 1
    return sizes


def possible(least: int, clients: int, total: int) -> None:
    """Refuses a smallest size that the samples do not suffice for."""
    if least < 0:
        raise ValueError(f"min_size: must be a whole number from 0, not {least}")
    if least * clients > total:
        raise ValueError(
            f"min_size: {clients} clients with {least} samples each need {least * clients}, but there are {total}"
            f" (at most {total // clients} each)"
        )


def gifts(sizes: Int64[np.ndarray, " clients"], least: int) -> list[tuple[int, int]]:
    """Who gives one sample to whom until nobody is below `least`: always the largest to the next in need.

    No donor falls below `least`, since while anyone is below it the largest is above it.
    """
    heap = [(-int(size), client) for client, size in enumerate(sizes) if size > least]
    heapq.heapify(heap)
    moves = []
    for client in np.flatnonzero(sizes < least).tolist():
        for _ in range(least - int(sizes[client])):
            size, donor = heap[0]
            moves.append((donor, client))
            if -size - 1 > least:
                heapq.heapreplace(heap, (size + 1, donor))
            else:
                heapq.heappop(heap)
    return moves


def top_up(holder: Holder, clients: int, least: int, dice: np.random.Generator) -> Holder:
    """Brings every client to `least` samples by gifts of random samples from the largest."""
    held = holder[holder >= 0]
    possible(least, clients, len(held))
    sizes = np.bincount(held, minlength=clients)
    moves = np.array(gifts(sizes, least), dtype=np.intp).reshape(-1, 2)
    if not len(moves):
        return holder
    holder = holder.copy()
    donors = np.unique(moves[:, 0])
    giving = np.flatnonzero(np.isin(holder, donors))
    giving = dice.permutation(giving)
    giving = giving[np.argsort(holder[giving], kind="stable")]
    first = np.searchsorted(holder[giving], moves[:, 0])
    holder[giving[first + _occurrence(moves[:, 0])]] = moves[:, 1]
    return holder


def deal(sizes: Int64[np.ndarray, " clients"], dice: np.random.Generator) -> Holder:
    """Holders of shuffled samples, given how many each client gets."""
    return dice.permutation(np.repeat(np.arange(len(sizes)), sizes))


def cut(shares: Float[np.ndarray, " clients"], total: int) -> NDArray[np.int64]:
    """How many of `total` samples each share takes when a row of samples is cut at the floors of the running sum."""
    ends = np.floor(np.cumsum(shares)[:-1] * total).astype(np.int64)
    return np.diff(np.concatenate([[0], np.minimum(ends, total), [total]]))


def _occurrence(values: NDArray[np.intp]) -> NDArray[np.intp]:
    """For each entry how often its value stood before it.

    >>> _occurrence(np.array([7, 3, 7, 7])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    occurrence = np.empty(len(values), dtype=np.intp)
    occurrence[order] = np.arange(len(values)) - np.searchsorted(ordered, ordered)
    return occurrence
