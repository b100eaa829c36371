"""`coterie data`: which datasets are here, and how to get the others."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from coterie.cli import said
from coterie.cli.plain import App

EXAMPLES = """\b
Examples:
  coterie data
  coterie data get fashion-mnist
  coterie data --data-dir ~/datasets --json -
"""
DataDir = Annotated[str | None, typer.Option("--data-dir", help="A folder to look in first, and to keep what is fetched.")]
group = App(help="List the datasets on this machine, or get one.", epilog=EXAMPLES)


def add_to(app: typer.Typer) -> None:
    """Adds the group."""
    app.add_typer(group, name="data", invoke_without_command=True)


@group.callback(invoke_without_command=True, epilog=EXAMPLES)
def data(context: typer.Context, data_dir: DataDir = None, json: said.Json = None) -> None:
    """List the datasets: which are on this machine, where, and how to get the others."""
    if context.invoked_subcommand is not None:
        return
    said.check_json(json)
    from coterie import data as sets
    from coterie.cli import tables

    rows = [{**asdict(one), "how": ", ".join(one.how) or None} for one in sets.listing(data_dir)]
    said.write_json(json, {"datasets": [asdict(one) for one in sets.listing(data_dir)]})
    if json != "-":
        console = said.console()
        console.print(tables.listing(rows, {"name": "dataset", "title": "what", "where": "where", "how": "how to get it"}))
        console.print("\nTo get one: coterie data get NAME. Your own: --dataset FILE.npz, or hf:OWNER/NAME", markup=False)


@group.command(epilog="Example: coterie data get fashion-mnist")
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A dataset that `coterie data` lists.")],
    data_dir: DataDir = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    json: said.Json = None,
) -> None:
    """Fetch a dataset unless it is here, check its content, and keep it."""
    said.check_json(json)
    from coterie import data as sets
    from coterie.data.sources import canonical
    from coterie.experiments.problems import BadInputError, Problem

    try:
        known = canonical(name)
    except ValueError as error:
        raise BadInputError([Problem("", str(error))]) from None
    try:
        where = sets.get(known, data_dir)
    except (ValueError, OSError) as error:
        said.console(progress=True).print(f"error: {error}", markup=False)
        raise typer.Exit(1) from None
    said.write_json(json, {"name": known, "where": where})
    if not quiet and json != "-":
        said.console().print(f"{known}: {where}", markup=False)
