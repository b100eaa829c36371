"""Whom FedTrust finds among 50 devices on handwritten digits, 20 % of them selfish: `python -m benchmarks.fedtrust`."""

from __future__ import annotations

from typing import Any

import numpy as np

import coterie as ct
from coterie import data
from coterie.backbones import SGD
from coterie.federation import Steps

DEVICES, ROUNDS, SEEDS = 50, 15, range(1, 6)
STEPS = SGD(Steps(epochs=2, batch_size=5, lr=0.05))


def found(world: ct.World, method: str, **settings: Any) -> np.ndarray:
    """The share of the selfish and of the honest that do not train in the last round, and of the selfish among those who do."""
    runs = []
    for seed in SEEDS:
        parts = data.dirichlet(alpha=1.0)
        with ct.simulate("digits", partition=parts, clients=DEVICES, seed=seed, model="linear", workers=1, world=world) as fed:
            selfish = fed.reality.attack.who(seed, DEVICES)
            *_, last = ct.play(getattr(ct, method)(backbone=STEPS, **settings), fed, ROUNDS)
            alone = ~np.isin(fed.roster.ids, last.asked) & (fed.roster["size"] > 0)
        runs.append([alone[selfish].mean(), alone[~selfish].mean(), selfish[last.asked].mean()])
    return 100 * np.mean(runs, axis=0)


def main() -> None:
    print("selfish found, honest lost, selfish among those who train, in %")
    for use, often in [(0.15, 1.0), (0.3, 1.0), (0.15, 0.5), (0.15, 0.15)]:
        for collude in (False, True):
            world = ct.World(attack="selfish", lazy_use=use, lazy_rounds=often, hiccups=0.02, collude=collude)
            for method, settings in [("fedtrust", {}), ("fedtrust", {"recommendations": "median"}), ("fedtrust_printed", {})]:
                numbers = " ".join(f"{one:5.1f}" for one in found(world, method, **settings))
                what = f"{use:.0%} of the machine in {often:.0%} of the rounds{', colluding' if collude else ''}"
                print(f"{numbers}  {method} {settings or ''}: {what}", flush=True)


if __name__ == "__main__":
    main()
