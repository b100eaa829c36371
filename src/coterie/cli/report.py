"""`coterie report`: the HTML report again, or over several runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coterie.cli import said

if TYPE_CHECKING:
    from coterie.experiments.store import Store

EXAMPLES = """\b
Examples:
  coterie report runs/digits-shards
  coterie report runs/digits-shards runs/digits-shards-2 --out both.html
  coterie report runs/digits-shards --json -   # the figures behind the page
"""


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EXAMPLES)(report)


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.")],
    out: Annotated[Path | None, typer.Option(help="The page; report.html in the first run's folder if not given.")] = None,
    json: said.Json = None,
) -> None:
    """Write the report of a run, or of several side by side."""
    said.check_json(json)
    stores = [opened(folder) for folder in runs]
    from coterie.experiments import summary
    from coterie.experiments.problems import BadInputError, Problem
    from coterie.experiments.store import results

    rounds = {store.folder: results(store.folder) for store in stores}
    empty = [str(folder) for folder, found in rounds.items() if not len(found)]
    if empty:
        raise BadInputError([Problem(folder, "no round of this run is over yet") for folder in empty])
    if json is not None:
        found = {str(one.folder): summary.document(one.outline, rounds[one.folder], one.sizes()) for one in stores}
        said.write_json(json, {"runs": found})
        return
    from coterie.experiments import material
    from coterie.experiments.report import write

    page = out or stores[0].folder / "report.html"
    if not page.resolve().parent.is_dir():
        raise BadInputError([Problem("--out", f"there is no folder {page.resolve().parent}")])
    made = material.of_run(stores[0]) if len(stores) == 1 else material.of_runs(stores)
    said.console().print(f"report: {write(made, page)}")


def opened(folder: Path) -> Store:
    """An existing run."""
    from coterie.experiments.problems import BadInputError, Problem
    from coterie.experiments.store import Store

    try:
        store = Store.open(folder)
        _ = store.outline
    except (ValueError, KeyError, TypeError, OSError, RecursionError) as error:
        raise BadInputError(
            [Problem("", str(error) if isinstance(error, ValueError) else f"{folder}: no run that can be read")]
        ) from None
    return store
