"""`coterie reproduce`: a paper's table or figure as an experiment, beside the paper's numbers."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from coterie.cli import said

EXAMPLES = """\b
Examples:
  coterie reproduce   # what there is
  coterie reproduce NAME --seeds 3 --json out.json
  coterie reproduce --all
"""


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EXAMPLES)(reproduce)


def reproduce(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="What to reproduce; a list if not given.")] = None,
    setting: Annotated[str | None, typer.Option(help="One of its settings; its first if not given.")] = None,
    seeds: Annotated[str | None, typer.Option(help="A number of seeds, or a list such as 1,2,5.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Fewer rounds than the paper's, for a quick look.")] = None,
    methods: Annotated[str | None, typer.Option(help="Methods with commas between, of those that it has.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Reproduce everything, one after another.")] = False,
    data_dir: Annotated[str | None, typer.Option(help="Where data files are looked for first.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Cells at a time; one a core if not given.")] = None,
    on: Annotated[str, typer.Option(help="A joblib backend, such as ray://HOST:PORT.")] = "loky",
    out: Annotated[Path | None, typer.Option(help="The run's folder; runs/NAME if not given.")] = None,
    json: said.Json = None,
) -> None:
    """Reproduce a paper's table or figure, and print it beside the paper's numbers."""
    said.check_json(json)
    from coterie.cli import tables
    from coterie.experiments import grid
    from coterie.experiments import reproduce as there
    from coterie.experiments.problems import BadInputError, Problem, unknown

    grid.check_backend(on)
    grid.check_jobs(jobs)
    known = there.names()
    if name is None and not everything:
        rows = [{"name": one, "what": there.what(one)} for one in known]
        said.write_json(json, {"reproductions": rows})
        if json != "-":
            said.console().print(tables.listing(rows, {"name": "name", "what": "what"}) if rows else "Nothing is here yet.")
        return
    if name is not None and name not in known:
        raise BadInputError([Problem("", unknown("reproduction", name, known))])
    from coterie.cli.playing import watched

    options = there.Options(setting, seeds, rounds, methods, data_dir, jobs, on, out, watched)
    with redirect_stdout(sys.stderr if json == "-" else sys.stdout):
        found = {one: there.run(one, options) for one in (known if everything else [str(name)])}
    said.write_json(json, found if everything else found[str(name)])
