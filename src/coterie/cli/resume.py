"""`coterie resume`: goes on with an interrupted run, to the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie.cli import said

EXAMPLES = """\b
Examples:
  coterie resume runs/digits-shards
  coterie resume runs/digits-shards --jobs 1 --json -
"""


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EXAMPLES)(resume)


def resume(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    jobs: Annotated[int | None, typer.Option(help="Cells at a time; one a core if not given.")] = None,
    on: Annotated[str, typer.Option(help="A joblib backend, such as ray://HOST:PORT.")] = "loky",
    checkpoint_every: Annotated[float, typer.Option(help="Seconds between checkpoints, at least.")] = 2.0,
    json: said.Json = None,
) -> None:
    """Go on with a run that was interrupted.

    Every method and seed goes on from its last checkpoint. The tables are the same, byte by byte, as if the run had
    never been interrupted. A run that is complete is shown again.
    """
    said.check_json(json)
    from coterie.cli.playing import play, show
    from coterie.cli.report import opened
    from coterie.experiments import config, federations, grid

    grid.check_backend(on)
    grid.check_jobs(jobs)
    store = opened(run)
    if store.complete:
        show(store, json)
        return
    experiment = config.load(store.experiment)
    federations.load(experiment, experiment.seeds[0])
    play(store, experiment, jobs=jobs, on=on, every=checkpoint_every, json=json)
