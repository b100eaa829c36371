"""What a task owner asks for, checked as a whole, and how it is kept."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import Any, get_args

from coterie.market import Task
from coterie.market.auction import Mechanism
from coterie.market.settlement import commission_on, worst_case
from coterie.service.books import LARGEST
from coterie.service.refusals import Unfit

MECHANISMS = get_args(Mechanism)
LIMITS = {
    "places": (1, 100_000),
    "rounds": (1, 1000),
    "reserve_price": (1, LARGEST),
    "budget": (1, LARGEST),
    "cap": (1, LARGEST),
}
MOST_CLASSES, LARGEST_QUOTA, LARGEST_WEIGHT = 1000, 10**9, 1e6


@dataclass(frozen=True, kw_only=True)
class Terms:
    """A task as its owner describes it."""

    title: str
    ground: str
    """Which federation is to train."""
    quotas: list[int]
    """For each class the samples that are needed; 0 where none are."""
    reserve_price: int
    """The most that one client can be paid."""
    about: str = ""
    weights: list[float] = field(default_factory=list)
    """For each class how much it matters; all the same if empty."""
    budget: int | None = None
    """The winners' bids together stay within it. What they are paid may exceed it, by as much as `cap` lets it."""
    cap: int | None = None
    """What is put in escrow, and the most that the task can cost. None: enough for the worst case."""
    places: int = 1000
    """How many clients may bid."""
    reputation_weight: float = 0.5
    price_weight: float = 1.0
    coverage_weight: float = 1.0
    sufficiency_weight: float = 1.0
    mechanism: Mechanism = "critical"
    partial: bool = False
    """Whether a cohort that leaves quotas unmet is trained all the same; else such a task fails."""
    rounds: int = 10
    closes_at: float | None = None
    """When bidding ends by itself, in seconds since 1970."""

    def __post_init__(self) -> None:
        if not self.weights:
            object.__setattr__(self, "weights", [1.0] * len(self.quotas))
        for name, (low, high) in LIMITS.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise Unfit(f"{name}: must be from {low} to {high}, not {value}")
        if not 1 <= len(self.quotas) <= MOST_CLASSES or max(self.quotas) > LARGEST_QUOTA:
            raise Unfit(f"quotas: must be 1 to {MOST_CLASSES} numbers up to {LARGEST_QUOTA}")
        for name in ("reputation_weight", "price_weight", "coverage_weight", "sufficiency_weight"):
            if not 0 <= getattr(self, name) <= LARGEST_WEIGHT:
                raise Unfit(f"{name}: must be from 0 to {LARGEST_WEIGHT:g}")
        if max(self.weights) > LARGEST_WEIGHT:
            raise Unfit(f"weights: must be up to {LARGEST_WEIGHT:g}")
        if self.mechanism not in MECHANISMS:
            raise Unfit(f"mechanism: must be one of {', '.join(MECHANISMS)}, not '{self.mechanism}'")
        if self.mechanism == "proportional-share" and self.budget is None:
            raise Unfit("budget: the mechanism proportional-share divides it, so there must be one")
        try:
            self.task  # noqa: B018 - refuses what cannot be
        except ValueError as error:
            raise Unfit(str(error)) from None

    @property
    def task(self) -> Task:
        """The task as auctions know it."""
        return Task(
            quotas=self.quotas,  # type: ignore[arg-type]
            weights=self.weights,  # type: ignore[arg-type]
            budget=self.budget,
            reserve_price=self.reserve_price,
            reputation_weight=self.reputation_weight,
            price_weight=self.price_weight,
            coverage_weight=self.coverage_weight,
            sufficiency_weight=self.sufficiency_weight,
        )

    def escrow(self, commission: int) -> int:
        """What is put aside when the task opens: the cap, or the most that the task can cost."""
        if self.cap is not None:
            return self.cap
        worst = worst_case(self.task, self.places, commission)
        if self.mechanism == "proportional-share" and self.budget is not None:
            worst = min(worst, self.budget + commission_on(self.budget, commission))
        return worst

    @property
    def row(self) -> dict[str, Any]:
        """The task's columns."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**own, "quotas": json.dumps(self.quotas), "weights": json.dumps([float(weight) for weight in self.weights])}

    @classmethod
    def of(cls, row: Any) -> Terms:
        """The terms in a row of the database."""
        own = {one.name: getattr(row, one.name) for one in fields(cls)}
        return cls(**{**own, "quotas": json.loads(row.quotas), "weights": json.loads(row.weights)})
