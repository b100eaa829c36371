"""The command line: one file a command group. What is heavy is imported inside commands, so that help answers at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from coterie.cli import bench, compare, data, flower, market, methods, partition, report, reproduce, resume
from coterie.cli.plain import App

app = App(
    name="coterie",
    help="Who trains next in federated learning, and with whom.",
    epilog="Start with: coterie compare. Every command has --help with examples, and --json for machines.",
    no_args_is_help=True,
)
for group in (compare, methods, partition, data, report, resume, reproduce, bench, flower, market):
    group.add_to(app)


@app.callback()
def coterie(
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    """Who trains next in federated learning, and with whom."""


def main(args: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit code: 0 done, 1 failed or stopped, 2 bad input."""
    given = list(sys.argv[1:] if args is None else args)
    if given == ["--version"]:
        from coterie import __version__

        print(__version__)
        return 0
    try:
        app(given, prog_name="coterie")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 1
    except ValueError as error:
        return _refused(error)
    return 0


def _refused(error: ValueError) -> int:
    """Says what is wrong with the input; any other error is ours, and shows itself."""
    from coterie.experiments.problems import BadInputError

    if not isinstance(error, BadInputError):
        raise error
    for problem in error.problems:
        print(f"error: {problem}", file=sys.stderr)
    return 2
