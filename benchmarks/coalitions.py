"""How long coalition formation and trust take at scale: `python -m benchmarks.coalitions`. Best of three, in CPU seconds."""

from __future__ import annotations

import resource
from collections.abc import Callable
from time import process_time

import numpy as np

from coterie import seeds
from coterie.coalitions.dynamics import better_response
from coterie.coalitions.leaders import Masters, StrongCluster
from coterie.coalitions.matching import Market, deferred_acceptance
from coterie.coalitions.optimal_sharing import optimal_partition
from coterie.coalitions.seating import EVERYBODY, Admission
from coterie.coalitions.stability import certify
from coterie.coalitions.stackelberg import equilibrium
from coterie.coalitions.trust_hedonic import TrustHedonic
from coterie.coalitions.uniform_sharing import UniformSharing
from coterie.plan import USE, Coalitions, Plan
from coterie.replies import Replies
from coterie.roster import Roster
from coterie.trust import Evidence
from coterie.trust.recommendations import word
from coterie.trust.telemetry import objective_trust

Job = tuple[str, Callable[[], object], float | None]
"""What, how, and the seconds that are promised."""


def trust_jobs() -> list[Job]:
    dice = seeds.rng(1, "telemetry")
    usage, benchmark = (dice.normal(0.7, 0.07, (100_000, 3, 30)).clip(0).astype(np.float32) for _ in range(2))
    return [
        ("objective trust, 100,000 devices × 3 × 30, printed", lambda: objective_trust(usage, "printed"), 0.5),
        ("objective trust, 100,000 devices × 3 × 30, against peers", lambda: objective_trust(usage), 0.5),
        ("objective trust, 100,000 devices × 3 × 30, own reference", lambda: objective_trust(usage, reference=benchmark), 0.5),
    ]


def hedonic_jobs(devices: int = 10_000) -> list[Job]:
    dice = seeds.rng(1, "trust")
    trust = np.where(dice.permutation(devices) < devices // 5, dice.uniform(0, 0.3, devices), dice.uniform(0.6, 1, devices))
    jobs: list[Job] = [
        (f"trust coalitions of {devices:,} with certificate, {name}", lambda rule=rule: rule.structure(trust, dice), 5.0)
        for name, rule in [("no largest size", TrustHedonic()), ("at most 5", TrustHedonic(max_size=5))]
    ]
    facts = {name: dice.random(devices) for name in ("cpu", "ram", "bandwidth", "latency")}
    roster = Roster.of([str(k) for k in range(devices)], size=np.ones(devices), **facts)
    labels = np.arange(devices) // 5
    return [*jobs, (f"masters of {devices // 5:,} coalitions", lambda: Masters().elect(roster, labels), None)]


def evidence_jobs(devices: int = 10_000) -> list[Job]:
    """What a round of FedTrust adds to the training when all devices are in one coalition."""
    rule, roster = Evidence(), Roster.of([str(k) for k in range(devices)], size=np.ones(devices))
    dice, nobody = seeds.rng(1, "rounds"), np.zeros(devices, np.intp)
    plan = Plan.star(roster.ids, None, coalitions=Coalitions(nobody))
    facts = {name: dice.normal(0.7, 0.07, devices).clip(0, 1) for name in USE}
    replies = Replies(roster.ids, np.zeros((devices, 1), np.float32), np.ones(devices, np.int64), facts)
    well = dice.random(devices) < 0.8
    known = rule.met(rule.read(rule.begin(roster), replies), plan, roster.ids, well, 1)
    seen = f"what {devices:,} devices' gauges read and {rule.witnesses} witnesses of each saw"
    return [
        (seen, lambda: rule.met(rule.read(known, replies), plan, roster.ids, well, 1), None),
        (
            f"trust of {devices:,} devices, readings and words together",
            lambda: rule.trust(known, word(known.good, known.bad)),
            None,
        ),
    ]


def sharing_jobs(clients: int = 10_000) -> list[Job]:
    sizes = np.maximum(np.round(seeds.rng(1, "sizes").dirichlet(np.full(clients, 0.5)) * clients * 100), 1)
    jobs: list[Job] = []
    for level in (0.1, 0.5, 0.9):
        game = UniformSharing(sizes, float(np.quantile(sizes, level)))
        starts = {
            "the optimum": optimal_partition(sizes, game.threshold),
            "all alone": np.arange(clients),
            "all together": np.zeros(clients, int),
        }
        for name, start in starts.items():
            for admission in (EVERYBODY, Admission("individual")):
                what = f"sharing game of {clients:,}, T at the {level:.0%} quantile, from {name}, {admission.consent}"
                jobs.append((what, lambda g=game, s=start, a=admission: better_response(g, s, a), 5.0))
        jobs.append((f"its certificate, T at {level:.0%}", lambda g=game, s=starts["the optimum"]: certify(g, s), 5.0))
    return jobs


def stackfed_jobs(clients: int = 100_000) -> list[Job]:
    dice = seeds.rng(1, "stackfed")
    strong = dice.random(clients) < 0.2
    features = np.hstack(
        [np.where(strong[:, np.newaxis], 4, 1) * np.exp(dice.normal(0, 0.2, (clients, 3))), dice.random((clients, 3))]
    )
    leaders, followers = clients // 5, clients - clients // 5
    follower = (dice.integers(0, followers, leaders)[:, np.newaxis] + 97 * np.arange(10)).ravel() % followers
    likes = dice.random((2, 10 * leaders))
    market = Market(follower, np.repeat(np.arange(leaders), 10), likes[0], likes[1])
    gains, quotas = dice.uniform(0.6, 1, (leaders, 10)), np.full(leaders, 4)
    return [
        (f"leaders of {clients:,} by sampled clustering", lambda: StrongCluster().find(features, seeds.rng(1, "sample")), 30.0),
        (f"payments on {leaders:,} shortlists of 10", lambda: [equilibrium(row) for row in gains], 30.0),
        (f"payments with a cap on {leaders:,}", lambda: [equilibrium(row, 0.1) for row in gains], 30.0),
        (
            f"matching {followers:,} followers and {leaders:,} leaders",
            lambda: deferred_acceptance(market, followers, quotas),
            30.0,
        ),
    ]


def seconds(run: Callable[[], object], times: int = 3) -> float:
    """The best of a few runs."""
    best = np.inf
    for _ in range(times):
        started = process_time()
        run()
        best = min(best, process_time() - started)
    return best


def main() -> None:
    for what, run, promised in [*trust_jobs(), *hedonic_jobs(), *evidence_jobs(), *sharing_jobs(), *stackfed_jobs()]:
        took = seconds(run)
        print(f"{took:8.3f}  {'' if promised is None else f'promised {promised:4.1f}':14s} {what}")
    print(f"largest memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


if __name__ == "__main__":
    main()
