"""`coterie bench`: the speed claims, measured on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from coterie.cli import said

EXAMPLES = """\b
Examples:
  coterie bench
  coterie bench mlp --json -
"""


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EXAMPLES)(bench)


def bench(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Benchmarks; all of them if none is named.")
    ] = None,
    json: said.Json = None,
) -> None:
    """Measure the speed claims on this machine, each beside its reference in the same run."""
    said.check_json(json)
    from coterie.cli import tables
    from coterie.experiments import bench as benchmarks
    from coterie.experiments.problems import BadInputError, Problem, unknown

    wrong = [
        Problem("", unknown("benchmark", name, benchmarks.names())) for name in names or [] if name not in benchmarks.names()
    ]
    if wrong:
        raise BadInputError(wrong)
    measured = benchmarks.bench(names or [])
    said.write_json(json, measured)
    if json == "-":
        return
    rows = [{"name": name, **{key: _shown(value) for key, value in found.items()}} for name, found in measured.items()]
    titles = {"name": "benchmark", "seconds": "seconds", "reference_seconds": "reference", "ratio": "times", "what": "what"}
    said.console().print(tables.listing(rows, titles))


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.3g}"
