"""How far Algorithm 9 is from the best set there is, on markets of 20 clients like the source's Section 5.5.6.

    python -m benchmarks.market_gap

Three classes of 2,000 samples, quotas of 300, a budget of 70, bids of 10 to 40. Utility is the sum of the winners'
scores, as the source defines it; the best set is searched for among all that fill the quotas within the budget.
"""

from __future__ import annotations

import numpy as np

from coterie.market import Bids, Task, clear
from coterie.market.rivals import exhaustive
from coterie.seeds import rng

SEEDS = 40


def market(seed: int, concentration: float, by: str) -> tuple[Task, Bids]:
    dice = rng(seed, "market", "gap")
    if by == "class":
        counts = np.stack([dice.multinomial(2000, dice.dirichlet(np.full(20, concentration))) for _ in range(3)], axis=1)
    else:
        counts = np.stack([dice.multinomial(300, shares) for shares in dice.dirichlet(np.full(3, concentration), 20)])
    task = Task(quotas=[300] * 3, budget=7000, reserve_price=4000)
    return task, Bids(prices=dice.integers(1000, 4001, 20), reputations=dice.uniform(0.2, 1, 20), counts=counts)


def main() -> None:
    print(f"{'dealt by':>9} {'Dirichlet':>10} {'feasible':>9} {'greedy fills':>13} {'utility where it does':>22}")
    for by in ("class", "client"):
        for concentration in (0.1, 0.5, 1.0):
            filled, ratios = 0, []
            for seed in range(SEEDS):
                task, bids = market(seed, concentration, by)
                best, ours = exhaustive(task, bids, "market"), clear(task, bids, scale="market")
                filled += not best.unmet
                if not best.unmet and not ours.unmet:
                    ratios.append(ours.scores[ours.winners].sum() / best.scores[best.winners].sum())
            print(f"{by:>9} {concentration:>10} {filled:>9} {len(ratios):>13} {np.mean(ratios):>22.3f}")


if __name__ == "__main__":
    main()
