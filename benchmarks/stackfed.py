"""How long StackFed's coalitions take at scale, and how near its choices come to the best group.

python -m benchmarks.stackfed
"""

from __future__ import annotations

import resource
from time import perf_counter

import numpy as np

from coterie import seeds
from coterie.coalitions.leader_follower import LeaderFollower


def population(clients: int, classes: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    dice = seeds.rng(seed, "population", clients)
    tier = np.where(dice.permutation(clients) < 0.2 * clients, 4.0, 1.0)
    machine = tier[:, np.newaxis] * np.exp(dice.normal(0, 0.2, (clients, 3)))
    counts = np.zeros((clients, classes), np.int64)
    for rows in np.array_split(np.arange(clients), max(clients // 10_000, 1)):
        shares = dice.dirichlet(np.full(classes, 0.1), len(rows))
        counts[rows] = dice.multinomial(300, shares)
    return machine, counts


def main() -> None:
    for clients, classes in [(1_000, 10), (10_000, 10), (100_000, 100)]:
        machine, counts = population(clients, classes)
        for choice in ("weighted", "joint"):
            started = perf_counter()
            found = LeaderFollower(choice=choice).among(machine, counts, seeds.rng(1, "form"))
            seconds = perf_counter() - started
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            print(
                f"{clients:7,} clients, {classes:3} classes, {choice}: {seconds:6.1f} s, {len(found.leaders):,} leaders by "
                f"{found.certificate['leaders_by']}, {found.certificate['outside']:,} outside, "
                f"{found.certificate['blocking_pairs']} blocking pairs, peak {peak:.1f} GB"
            )


if __name__ == "__main__":
    main()
