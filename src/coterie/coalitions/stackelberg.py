"""What followers pay a leader to be taken along: the payment game of StackFed (thesis, Eq. 4.11 to 4.19).

A follower who pays P_f of all payments ΣP gains Δ_f·P_f/ΣP − P_f, with Δ_f what the leader adds to its data score. This is a
lottery contest (Tullock): its Nash equilibrium is unique and has a closed form, with a cap on payments too. The source's
Algorithm 7 takes one best response instead, from payments equal to the gains; there hardly anybody pays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Payments = NDArray[np.float64]


def equilibrium(gains: ArrayLike, cap: ArrayLike = np.inf) -> Payments:
    """Payments from which no follower gains by deviating; `cap`, one for all or one each, is in units of the largest gain.

    With X the sum of payments, each pays min(cap, max(0, X − X²/Δ)). Both that over X and so the sum of all shares fall in X,
    so exactly one X makes the shares sum to 1. It is found between two of the X at which somebody starts or stops to pay, or
    to pay the cap, where who does what is fixed and X solves a quadratic equation. With fewer than two followers who
    have anything to gain, nobody needs to pay.

    >>> equilibrium([10, 8, 5, 3, 1]).round(4).tolist()
    [2.4913, 1.9377, 0.2768, 0.0, 0.0]
    >>> equilibrium([10, 8, 5, 3, 1], cap=0.1).round(4).tolist()
    [1.0, 1.0, 1.0, 0.0, 0.0]
    """
    delta = _gains(gains)
    payments = np.zeros(len(delta))
    active = np.flatnonzero(delta > 0)
    if len(active) < 2:
        return payments
    value = delta[active]
    limit = np.broadcast_to(_cap(cap), delta.shape)[active] * value.max()
    payments[active] = _pay(value, _total(value, limit), limit)
    return payments


def one_shot(gains: ArrayLike, cap: ArrayLike = np.inf) -> Payments:
    """Algorithm 7 as printed: one best response to payments that equal the gains, clipped to [0, cap].

    >>> one_shot([10, 8, 5, 3, 1]).tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0]
    """
    delta = _gains(gains)
    limit = _cap(cap) * float(delta.max(initial=0.0)) if delta.any() else np.zeros(())
    return best_response(delta, delta, limit)


def best_response(gains: ArrayLike, payments: ArrayLike, limit: ArrayLike = np.inf) -> Payments:
    """What each would best pay if the others paid what they do: sqrt(Δ S) − S within [0, limit], S their sum (4.18)."""
    delta, paid = _gains(gains), np.asarray(payments, np.float64)
    others = np.maximum(paid.sum() - paid, 0)
    return np.asarray(np.clip(np.sqrt(delta * others) - others, 0, np.asarray(limit)))


def utilities(gains: ArrayLike, payments: ArrayLike) -> Payments:
    """What each follower has of it (4.11). Where nobody pays, those with anything to gain have equal chances.

    >>> utilities([4.0, 4.0, 0.0], [1.0, 1.0, 0.0]).tolist(), utilities([4.0, 4.0, 0.0], [0.0, 0.0, 0.0]).tolist()
    ([1.0, 1.0, 0.0], [2.0, 2.0, 0.0])
    """
    delta, paid = _gains(gains), np.asarray(payments, np.float64)
    total = float(paid.sum())
    if total > 0:
        return np.asarray(delta * paid / total - paid)
    return np.asarray(delta / max(int((delta > 0).sum()), 1))


def regret(gains: ArrayLike, payments: ArrayLike, cap: ArrayLike = np.inf) -> float:
    """The most that any follower would gain by paying something else, as a share of the largest gain; 0 at an equilibrium.

    Where all others pay nothing, any payment however small takes all: then the regret is the supremum.

    >>> gains = np.ones(10)
    >>> round(regret(gains, one_shot(gains)), 3), round(regret(gains, equilibrium(gains)), 9)
    (0.9, 0.0)
    """
    delta, paid = _gains(gains), np.asarray(payments, np.float64)
    largest = float(delta.max(initial=0.0))
    if largest == 0:
        return float(paid.max(initial=0.0))
    others = paid.sum() - paid
    then = best_response(delta, paid, _cap(cap) * largest)
    share = np.divide(then, then + others, out=np.ones(len(delta)), where=others > 0)
    return float((delta * share - then - utilities(delta, paid)).max()) / largest


def _total(value: Payments, limit: Payments) -> float:
    """The sum of payments at equilibrium, with every value above 0 and at least two of them."""
    low, high = 0.0, float(value.max())
    turns = _turns(value, limit)
    first, last = 0, len(turns)
    while first < last:  # the largest turn at which the shares still sum to 1 or more
        middle = (first + last) // 2
        if _pay(value, turns[middle], limit).sum() >= turns[middle]:
            low, first = float(turns[middle]), middle + 1
        else:
            high, last = float(turns[middle]), middle
    inside = (low + high) / 2
    capped = inside - inside**2 / value > limit
    paying = (value > inside) & ~capped
    inverse, free = float((1 / value[paying]).sum()), int(paying.sum()) - 1
    owed = float(limit[capped].sum())
    if not paying.any():
        return owed
    return (free + float(np.sqrt(free**2 + 4 * inverse * owed))) / (2 * inverse)


def _turns(value: Payments, limit: Payments) -> Payments:
    """The sums at which somebody stops to pay (X = Δ), or starts or stops to pay the cap (X − X²/Δ = cap), in order."""
    within = value >= 4 * limit
    reach = value[within]
    root = np.sqrt(1 - 4 * limit[within] / reach)
    return np.unique(np.concatenate([value, reach * (1 - root) / 2, reach * (1 + root) / 2]))


def _pay(value: Payments, total: float, limit: Payments) -> Payments:
    return np.asarray(np.clip(total - total**2 / value, 0, limit))


def _gains(gains: ArrayLike) -> Payments:
    """Gains below 0 count as none: such a follower would not pay."""
    delta = np.asarray(gains, np.float64)
    if delta.ndim != 1 or not np.isfinite(delta).all():
        raise ValueError("gains: must be one finite number for each follower")
    return np.maximum(delta, 0.0)


def _cap(cap: ArrayLike) -> Payments:
    limit = np.asarray(cap, np.float64)
    if not (limit > 0).all():
        raise ValueError(f"cap: must be a number above 0, not {cap!r}")
    return limit
