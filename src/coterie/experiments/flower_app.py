"""The two sides of an app of Flower that plays a run of ours where a SuperLink has it played."""

from __future__ import annotations

from pathlib import Path

from flwr.common import Context
from flwr.server import Grid, ServerApp

from coterie.experiments import cell, config, grid, on_flower
from coterie.experiments.store import Store
from coterie.flower.client import client_app

server = ServerApp()
client = client_app(on_flower.Held(), portable=True)


@server.main()  # type: ignore[misc,untyped-decorator,unused-ignore] # flwr is an extra
def main(there: Grid, context: Context) -> None:
    """Plays what is left of the run whose folder the configuration names."""
    store = Store(Path(str(context.run_config["folder"])))
    experiment = config.load(store.experiment)
    settings = cell.Settings(every=float(str(context.run_config["every"])))
    with on_flower.lent(there):
        for one in grid.unfinished(store):
            outcome = cell.run(store.folder, experiment, one, settings)
            print(f"{one.method}, seed {one.seed}: {outcome.state} {outcome.reason}", flush=True)
