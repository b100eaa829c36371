"""What a task owner asks for: samples of classes, at most for this much."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST_AMOUNT = 2**53
"""Whole amounts up to here are exact as floating-point numbers too."""

Amount = int | float
"""Money: whole minor units, which make every outcome exact, or floating-point numbers."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """A learning task for sale: which samples are needed, what they are worth, what may be spent.

    Classes with quota 0 are not required; nobody wins for holding them.

    >>> task = Task(quotas=[900, 0, 150], weights=[1, 1, 3], budget=1200, reserve_price=40)
    >>> task.required.tolist(), task.whole
    ([True, False, True], True)
    """

    quotas: NDArray[np.int64]
    """For each class the samples that are needed, r_d."""
    reserve_price: Amount
    """The most that one client can be paid; higher bids are refused before the auction."""
    weights: NDArray[np.float64] | None = None
    """For each class how much it matters, w_d; None: all the same."""
    budget: Amount | None = None
    """The planning budget, which the winners' bids stay within; None: no limit. Critical payments may exceed it."""
    reputation_weight: float = 0.5
    """α of Eq. 5.17."""
    price_weight: float = 1.0
    """β of Eq. 5.17."""
    coverage_weight: float = 1.0
    """γ of Eq. 5.9."""
    sufficiency_weight: float = 1.0
    """ρ of Eq. 5.9."""

    def __post_init__(self) -> None:
        quotas = whole_numbers("task: quotas", self.quotas)
        if quotas.ndim != 1 or not quotas.any():
            raise ValueError("task: quotas must be a row of numbers, one a class, at least one of them above 0")
        weights = np.ones(len(quotas)) if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        if weights.shape != quotas.shape:
            raise ValueError(f"task: {len(quotas)} quotas, but weights of shape {weights.shape}; one weight a class is needed")
        if not (np.isfinite(weights) & ((weights > 0) | (quotas == 0))).all():
            raise ValueError("task: the weight of every required class must be a finite number above 0")
        _check_amount("reserve_price", self.reserve_price, above_zero=True)
        if self.budget is not None and math.isinf(self.budget) and self.budget > 0:
            object.__setattr__(self, "budget", None)
        if self.budget is not None:
            _check_amount("budget", self.budget)
        _check_weight("reputation_weight", self.reputation_weight, zero=True)
        for name in ("price_weight", "coverage_weight", "sufficiency_weight"):
            _check_weight(name, getattr(self, name))
        object.__setattr__(self, "quotas", frozen(quotas))
        object.__setattr__(self, "weights", frozen(weights))

    @property
    def required(self) -> NDArray[np.bool_]:
        """For each class whether it is needed at all."""
        return self.quotas > 0

    @property
    def importance(self) -> NDArray[np.float64]:
        """For each class its weight, 0 where it is not required."""
        return np.where(self.required, np.asarray(self.weights), 0.0)

    @property
    def whole(self) -> bool:
        """Whether the task's amounts are whole minor units."""
        return is_whole(self.reserve_price) and (self.budget is None or is_whole(self.budget))


def whole_numbers(what: str, values: Any) -> NDArray[np.int64]:
    """Returns counts as integers, refusing what is none."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf" and array.size:
        raise ValueError(f"{what} must be whole numbers, not {array.dtype}")
    if array.dtype.kind == "f" and not (np.isfinite(array) & (array == np.floor(array))).all():
        raise ValueError(f"{what} must be whole numbers; some are not")
    if array.size and (array.min() < 0 or array.max() > LARGEST_AMOUNT):
        raise ValueError(f"{what} must be from 0 to 2**53; they run from {array.min()} to {array.max()}")
    return array.astype(np.int64)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Returns a copy that cannot be written to."""
    array = array.copy()
    array.flags.writeable = False
    return array


def is_whole(amount: object) -> bool:
    """Whether an amount is a whole number by its type."""
    return isinstance(amount, int | np.integer) and not isinstance(amount, bool)


def _check_amount(name: str, amount: Amount, above_zero: bool = False) -> None:
    if isinstance(amount, bool) or not isinstance(amount, int | float | np.integer | np.floating) or not math.isfinite(amount):
        raise ValueError(f"task: {name} must be a finite amount of money, not {amount!r}")
    if amount < 0 or (above_zero and amount == 0):
        raise ValueError(f"task: {name} must be {'above' if above_zero else 'at least'} 0, not {amount}")
    if is_whole(amount) and amount > LARGEST_AMOUNT:
        raise ValueError(f"task: {name} of {amount} is over 2**53 minor units")


def _check_weight(name: str, weight: float, zero: bool = False) -> None:
    if not math.isfinite(weight) or weight < 0 or (weight == 0 and not zero):
        raise ValueError(f"task: {name} must be a finite number {'from' if zero else 'above'} 0, not {weight}")
