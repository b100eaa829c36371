"""How fast Fashion-MNIST is parted among 1,000 clients and a million samples among 10,000, beside flwr-datasets.

    python -m benchmarks.partition
    python -m benchmarks.partition --seeds 20 --json out.json

Each scheme that flwr-datasets has too is compared with it on the same labels: seconds to know every client's samples, and
four measures over several seeds with the standard error of their difference. Without flwr-datasets that part is skipped.
"""

from __future__ import annotations

import argparse
import json
import resource
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import coterie.data as data
from coterie.data.features import features_of
from coterie.data.heterogeneity import mean_js_distance

MEASURES = ("entropy", "sparsity", "js", "size_gini")
FEWER = {"linear": 50, "square": 50}
"""Clients where flwr-datasets refuses 1,000, since some would get nothing."""
Pair = tuple[data.Scheme, Callable[[Any, int, int], Any]]


def pairs() -> dict[str, Pair]:
    """Our schemes, and flwr-datasets' partitioners as (classes, clients, seed) makes them."""
    import flwr_datasets.partitioner as theirs

    def equal(samples: int, clients: int) -> list[int]:
        return [samples // clients + (k < samples % clients) for k in range(clients)]

    power = np.random.default_rng(0).lognormal(0, 2, 100_000)
    return {
        "iid": (data.iid(), lambda y, m, s: theirs.IidPartitioner(m)),
        "dirichlet": (
            data.dirichlet(0.5, min_size=0),
            lambda y, m, s: theirs.DirichletPartitioner(m, "label", 0.5, min_partition_size=0, self_balancing=False, seed=s),
        ),
        "dirichlet, balanced": (
            data.dirichlet(0.5, balanced=True, min_size=0),
            lambda y, m, s: theirs.DirichletPartitioner(m, "label", 0.5, min_partition_size=0, self_balancing=True, seed=s),
        ),
        "inner-dirichlet": (
            data.inner_dirichlet(0.5),
            lambda y, m, s: theirs.InnerDirichletPartitioner(equal(len(y), m), "label", 0.5, seed=s),
        ),
        "shards": (data.shards(2), lambda y, m, s: theirs.ShardPartitioner(m, "label", 2, seed=s)),
        "pathological": (data.pathological(2), lambda y, m, s: theirs.PathologicalPartitioner(m, "label", 2, seed=s)),
        "pathological, first": (
            data.pathological(2, "first-deterministic"),
            lambda y, m, s: theirs.PathologicalPartitioner(m, "label", 2, "first-deterministic", seed=s),
        ),
        "distribution": (
            data.distribution(labels=2, law="lognormal", preassigned=1),
            lambda y, m, s: theirs.DistributionPartitioner(
                np.random.default_rng(s).permutation(power)[: 2 * m].reshape(10, -1), m, 2, "label", 1, seed=s
            ),
        ),
        "linear": (data.linear(min_size=0), lambda y, m, s: theirs.LinearPartitioner(m)),
        "square": (data.square(min_size=0), lambda y, m, s: theirs.SquarePartitioner(m)),
    }


def by_flower(make: Callable[[Any, int, int], Any], table: Any, clients: int, seed: int) -> tuple[data.Partition, float]:
    """A partition of flwr-datasets as ours, and the seconds until its first client was known."""
    y = np.asarray(table["label"][:])
    started = perf_counter()
    partitioner = make(y, clients, seed)
    partitioner.dataset = table
    partitioner.load_partition(0)
    seconds = perf_counter() - started
    rows = [partitioner.load_partition(k).with_format("numpy")["row"][:] for k in range(clients)]
    holder = np.full(len(y), -1)
    for client, held in enumerate(rows):
        holder[np.asarray(held, dtype=int)] = client
    return data.Partition.of(holder, clients, "flower"), seconds


def table_of(dataset: data.Dataset, seed: int) -> Any:
    """Labels and row numbers as a table, shuffled, since some of flwr-datasets' partitioners cut it as it stands."""
    import datasets

    datasets.disable_progress_bars()
    order = np.random.default_rng(seed).permutation(len(dataset))
    return datasets.Dataset.from_dict({"label": dataset.y[order].tolist(), "row": order.tolist()})


def beside(name: str, dataset: data.Dataset, clients: int, seeds: int) -> dict[str, Any]:
    """One scheme beside flwr-datasets': seconds, and measures over the seeds."""
    ours, make = pairs()[name]
    found: dict[str, list[list[float]]] = {"ours": [], "theirs": []}
    seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
    for seed in range(seeds):
        started = perf_counter()
        partition = ours.split(dataset, clients, seed)
        seconds["ours"].append(perf_counter() - started)
        other, took = by_flower(make, table_of(dataset, seed), clients, seed)
        seconds["theirs"].append(took)
        for side, one in (("ours", partition), ("theirs", other)):
            found[side].append([getattr(data.measure(one, dataset), key) for key in MEASURES])
    ours_, theirs_ = (np.array(found[side]) for side in ("ours", "theirs"))
    error = np.sqrt((ours_.var(axis=0, ddof=1) + theirs_.var(axis=0, ddof=1)) / seeds)
    times = {side: float(np.median(values)) for side, values in seconds.items()}
    return {
        "seconds": times["ours"],
        "flower_seconds": times["theirs"],
        "ratio": times["theirs"] / times["ours"],
        **{
            key: {"ours": float(ours_[:, i].mean()), "flower": float(theirs_[:, i].mean()), "error": float(error[i])}
            for i, key in enumerate(MEASURES)
        },
    }


def speeds(dataset: data.Dataset, clients: int = 1000) -> dict[str, float]:
    """Seconds of each scheme, features aside, and of the pairwise measure."""
    features_of(dataset)
    schemes = {name: kind() for name, kind in data.SCHEMES.items() if name != "natural"}
    schemes |= {"two-level, min_size 10": data.two_level(min_size=10)}
    found = {name: _seconds(lambda scheme=scheme: scheme.split(dataset, clients, 1)) for name, scheme in schemes.items()}
    rows = np.random.default_rng(0).dirichlet(np.full(10, 0.5), clients)
    return {**found, "pairwise distances": _seconds(lambda: mean_js_distance(rows))}


def million() -> dict[str, float]:
    """Two-level, a million samples of 32 features in 10 classes among 10,000 clients: seconds and peak memory."""
    dice = np.random.default_rng(0)
    centers = 2 * dice.standard_normal((30, 32), dtype=np.float32)
    x = centers[dice.integers(30, size=1_000_000)] + dice.standard_normal((1_000_000, 32), dtype=np.float32)
    big = data.Dataset.of("big", x, dice.integers(10, size=len(x)), x[:100], np.arange(100) % 10)
    scheme = data.two_level(10, 0.5, 0.1, min_size=5, features=big.x)
    seconds = _seconds(lambda: scheme.split(big, 10_000, 1), times=1)
    return {"seconds": seconds, "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _seconds(work: Callable[[], Any], times: int = 3) -> float:
    found = []
    for _ in range(times):
        started = perf_counter()
        work()
        found.append(perf_counter() - started)
    return float(np.median(found))


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--seeds", type=int, default=5, help="seeds of the comparison with flwr-datasets")
    asked.add_argument("--json", metavar="FILE", help="write the numbers there; - for the screen")
    wanted = asked.parse_args()
    result: dict[str, Any] = {"million": million()}
    dataset = data.load("fashion-mnist")
    result["seconds"] = speeds(dataset)
    try:
        known = pairs()
    except ImportError:
        print("flwr-datasets is not installed (pip install 'coterie[flower]'): the comparison with it is skipped.")
    else:
        result["beside"] = {name: beside(name, dataset, FEWER.get(name, 1000), wanted.seeds) for name in known}
    if wanted.json == "-":
        print(json.dumps(result, indent=2))
        return
    if wanted.json:
        Path(wanted.json).write_text(json.dumps(result, indent=2))
    _print(result)


def _print(result: dict[str, Any]) -> None:
    print(
        f"1,000,000 samples, 10,000 clients, two-level: {result['million']['seconds']:.1f} s, "
        f"{result['million']['peak_megabytes']:.0f} MB at most"
    )
    print("\nFashion-MNIST, 60,000 samples, 1,000 clients: seconds")
    for name, seconds in result["seconds"].items():
        print(f"  {name:<24} {seconds:8.3f}")
    for name, row in result.get("beside", {}).items():
        told = "  ".join(f"{key} {row[key]['ours']:.3f}/{row[key]['flower']:.3f}±{row[key]['error']:.3f}" for key in MEASURES)
        print(f"  {name:<20} {row['seconds']:.3f} s, Flower {row['flower_seconds']:.2f} s, {row['ratio']:.0f}×  {told}")


if __name__ == "__main__":
    main()
