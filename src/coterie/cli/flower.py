"""`coterie flower`: experiments on Flower, its own simulation or a running SuperLink."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie.cli import said
from coterie.cli.plain import App

EXAMPLES = """\b
Examples:
  coterie flower run experiment.toml --workers 2 --json out.json
  coterie flower run experiment.toml --superlink local
  coterie flower run --set training.lr=0.05 --rounds 20 --seeds 1
"""

flower = App(help="Run experiments on Flower.", epilog=EXAMPLES, no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    app.add_typer(flower, name="flower")


@flower.callback()
def group() -> None:
    """Run experiments on Flower. Needs the extra: pip install 'coterie[flower]'."""


@flower.command(epilog=EXAMPLES)
def run(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE.toml]", help="An experiment; an example on digits if not given.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes that train; one a core if not given.")] = None,
    superlink: Annotated[
        str | None, typer.Option(metavar="NAME", help="A running SuperLink, by its name in Flower's configuration.")
    ] = None,
    methods: Annotated[str | None, typer.Option(help="Methods, with commas between.")] = None,
    clients: Annotated[int | None, typer.Option(help="How many clients there are.")] = None,
    per_round: Annotated[int | None, typer.Option(help="How many train in a round.")] = None,
    rounds: Annotated[int | None, typer.Option(help="How many rounds are played.")] = None,
    seeds: Annotated[str | None, typer.Option(help="A number of seeds, or seeds with commas between.")] = None,
    sets: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any other setting.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run's folder; runs/NAME if not given.")] = None,
    checkpoint_every: Annotated[float, typer.Option(help="Seconds between checkpoints, at least.")] = 2.0,
    json: said.Json = None,
) -> None:
    """Run an experiment on Flower's own simulation, as `compare --engine flower` does, or on a running SuperLink.

    A SuperLink has to see the run's folder, and to have as many nodes as the experiment has clients, started with
    `partition-id` 0, 1, and so on; one that simulates makes them itself.
    """
    from coterie.cli.compare import resolve, start
    from coterie.experiments.problems import BadInputError, Problem

    if workers is not None and workers < 1:
        raise BadInputError([Problem("--workers", f"must be a whole number from 1, not {workers}")])
    if workers is not None and superlink is not None:
        raise BadInputError([Problem("--workers", "is for Flower's own simulation; a SuperLink has its own processes")])
    given = {"methods": methods, "clients": clients, "per_round": per_round, "rounds": rounds, "seeds": seeds}
    experiment, where = resolve(file, {**given, "engine": "flower"}, sets)
    said.check_json(json)
    start(
        experiment,
        where,
        file=file,
        out=out,
        jobs=1,
        on="sequential",
        every=checkpoint_every,
        json=json,
        workers=workers,
        superlink=superlink,
    )
