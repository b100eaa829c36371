"""`coterie methods`: what there is, and what can be set of it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from coterie.cli import said

EXAMPLES = """\b
Examples:
  coterie methods
  coterie methods oort
  coterie methods --json -
"""


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EXAMPLES)(methods)


def methods(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A method, for its parameters.")] = None,
    json: said.Json = None,
) -> None:
    """List the methods, or one method's parameters."""
    said.check_json(json)
    from coterie import catalog
    from coterie.cli import tables

    console = said.console(json)
    if name is not None:
        _one(name, json)
        return
    rows = [{"name": one.name, "summary": one.summary, "source": one.source} for one in catalog.METHODS.values()]
    said.write_json(json, {"methods": rows})
    if json != "-":
        console.print(tables.listing(rows, {"name": "method", "summary": "what it does", "source": "source"}))
        console.print("\nParameters of one: coterie methods NAME. To set one: --set NAME.PARAMETER=VALUE")


def _one(name: str, json: str | None) -> None:
    from coterie.cli import tables
    from coterie.experiments import methods as known
    from coterie.experiments.problems import BadInputError, Problem

    try:
        found = known.parameters(name)
    except ValueError as error:
        raise BadInputError([Problem("", str(error))]) from None
    rows = [
        {"name": one.name, "default": _default(one), "allowed": one.allowed, "meaning": one.meaning}
        for one in found.values()
        if one.name != "backbone"
    ]
    document = {**known.about(name), "parameters": rows}
    said.write_json(json, document)
    if json != "-":
        console = said.console()
        console.print(f"{name}: {document['summary']} {document['source']}\n", markup=False)
        titles = {"name": "parameter", "default": "default", "allowed": "allowed", "meaning": "meaning"}
        console.print(tables.listing(rows, titles))


def _default(parameter: Any) -> Any:
    from coterie.experiments import config

    return None if parameter.required else config.plain(parameter.default)
