"""Algorithm 9 and its critical bids in the plainest Python: dictionaries, loops, and trying prices out."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


@dataclass
class Market:
    """A task and its bidders as lists."""

    quotas: list[int]
    weights: list[float]
    budget: float
    reserve: float
    alpha: float
    beta: float
    prices: list[float]
    reputations: list[float]
    counts: list[list[int]]
    scaled: bool = False

    def value(self, i: int) -> float:
        required = [d for d, quota in enumerate(self.quotas) if quota > 0]
        total = sum(self.weights[d] for d in required)
        covers = sum(self.weights[d] for d in required if self.counts[i][d] > 0) / total
        fills = sum(self.weights[d] * min(1, self.counts[i][d] / self.quotas[d]) for d in required) / total
        return covers * fills

    def score(self, i: int, price: float) -> float:
        value, unit = self.value(i), 1
        if self.scaled:
            unit = self.reserve
            value /= max(self.value(j) for j in range(len(self.prices))) or 1
        return value + self.alpha * self.reputations[i] - self.beta * price / unit

    def winners(self, prices: list[float]) -> list[int]:
        score = {i: self.score(i, price) for i, price in enumerate(prices)}
        ranked = sorted((i for i in score if prices[i] <= self.reserve), key=lambda i: (-score[i], prices[i], i))
        held = dict.fromkeys([d for d, quota in enumerate(self.quotas) if quota > 0], 0)
        chosen, spent = [], 0
        for i in ranked:
            if all(held[d] >= self.quotas[d] for d in held):
                break
            if all(self.counts[i][d] == 0 or held[d] >= self.quotas[d] for d in held):
                continue
            if spent + prices[i] > self.budget:
                continue
            chosen.append(i)
            spent += prices[i]
            for d in held:
                held[d] += self.counts[i][d]
        return chosen

    def wins(self, i: int, price: float) -> bool:
        return i in self.winners([*self.prices[:i], price, *self.prices[i + 1 :]])

    def critical_whole(self, i: int) -> int:
        """The highest whole price that wins, -1 where none does: all are tried."""
        return max((price for price in range(int(self.reserve) + 1) if self.wins(i, price)), default=-1)

    def critical(self, i: int) -> float:
        """The supremum of winning prices, by trying halfway between two until they are one."""
        low, high = self.prices[i], self.reserve
        if self.wins(i, high):
            return high
        for _ in range(200):
            middle = (low + high) / 2
            if middle in (low, high):
                break
            low, high = (middle, high) if self.wins(i, middle) else (low, middle)
        return low

    @property
    def no_budget(self) -> bool:
        return self.budget == inf
