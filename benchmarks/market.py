"""The largest market of the source's Table 5.1 (Env-5): how long selection and exact payments take, and how much memory.

    python -m benchmarks.market
    python -m benchmarks.market --bids lognormal --scale none --json -

100,000 devices hold 10 of 500 classes each, Poisson(20) samples of a class; 5,000 samples of every class are wanted.
Prices are whole minor units. Budgets are shares of what a market without one needs.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from scipy import sparse

from coterie.market import Bids, Task
from coterie.market.payments import critical_payments
from coterie.market.ranking import Ranking
from coterie.market.walk import walk
from coterie.seeds import rng

SHARES = (None, 1.0, 0.9, 0.6, 0.3, 0.1, 0.02)


def environment(devices: int, classes: int, bids: str, seed: int) -> Bids:
    dice = rng(seed, "market", "env-5")
    held = np.sort(np.stack([dice.choice(classes, 10, replace=False) for _ in range(devices)]), axis=1)
    samples = dice.poisson(20, held.size)
    counts = sparse.csr_array((samples, held.ravel(), np.arange(0, held.size + 1, 10)), shape=(devices, classes))
    prices = dice.integers(1000, 4001, devices)
    if bids == "lognormal":
        prices = np.minimum(1000 * dice.lognormal(0, 1.5, devices), 10**7).astype(np.int64)
    return Bids(prices=prices, reputations=dice.uniform(0.2, 1, devices), counts=counts)


def measure(task: Task, bids: Bids, scale: str) -> dict[str, float | int]:
    began, worked = perf_counter(), process_time()
    way = walk(Ranking.of(task, bids, scale))
    selected, chose = perf_counter(), process_time()
    payments = critical_payments(way)
    paid, counted = perf_counter(), process_time()
    return {
        "winners": len(way.winners),
        "selection_seconds": round(selected - began, 3),
        "selection_cpu_seconds": round(chose - worked, 3),
        "payments_seconds": round(paid - selected, 3),
        "payments_cpu_seconds": round(counted - chose, 3),
        "spent": int(way.spent[-1]),
        "paid": int(payments.sum()),
    }


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--bids", choices=["uniform", "lognormal"], default="uniform")
    asked.add_argument("--scale", choices=["none", "market"], default="market")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--json", metavar="FILE", help="write the numbers there; - for the screen")
    wanted = asked.parse_args()
    bids = environment(100_000, 500, wanted.bids, wanted.seed)
    settings = {
        "quotas": np.full(500, 5000),
        "reserve_price": int(bids.prices.max()),
        "price_weight": 1.0 if wanted.scale == "market" else 1e-4,
    }
    rows, needed = [], None
    for share in SHARES:
        budget = None if share is None else int(needed * share)
        row = {"budget": share, **measure(Task(**settings, budget=budget), bids, wanted.scale)}
        needed = row["spent"] if needed is None else needed
        rows.append(row)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result = {"what": "Env-5", "bids": wanted.bids, "scale": wanted.scale, "rows": rows, "peak_megabytes": round(peak)}
    if wanted.json:
        text = json.dumps(result, indent=2)
        sys.stdout.write(text + "\n") if wanted.json == "-" else Path(wanted.json).write_text(text + "\n")
        return
    print(f"{'budget':>8} {'winners':>8} {'selection s (cpu)':>18} {'payments s (cpu)':>18} {'paid / spent':>13}")
    for row in rows:
        share = "none" if row["budget"] is None else f"{row['budget']:.2f}"
        times = [f"{row[f'{part}_seconds']:.3f} ({row[f'{part}_cpu_seconds']:.3f})" for part in ("selection", "payments")]
        print(f"{share:>8} {row['winners']:>8} {times[0]:>18} {times[1]:>18} {row['paid'] / row['spent']:>13.2f}")
    print(f"peak memory {result['peak_megabytes']} MB")


if __name__ == "__main__":
    main()
