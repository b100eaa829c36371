"""`coterie bench`: the speed claims, measured on this machine; `coterie bench attacks`: what attackers achieve."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli import flags, said

if TYPE_CHECKING:
    from coterie.experiments.attacks import Row, Suite

ATTACKS = "attacks"

EXAMPLES = """\b
Examples:
  coterie bench
  coterie bench mlp --json -
  coterie bench attacks --seeds 20   # the whole attack suite
  coterie bench attacks --attack noise,sign-flip --seeds 3 --rounds 20
"""


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EXAMPLES)(bench)


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME...]", help="Benchmarks; all of speed if none is named. Or: attacks."),
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="Attacks: a number of seeds, or a list such as 1,2,5; 3 at first.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Attacks: rounds of each run; 40 if not given.")] = None,
    attack: Annotated[str | None, typer.Option(help="Attacks: which, with commas between; all if not given.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Attacks: what is learned; digits if not given.")] = None,
    json: said.Json = None,
) -> None:
    """Measure the speed claims on this machine, each beside its reference in the same run.

    With the name attacks: what simulated attackers achieve against the audit, beside what is promised, with 95 % intervals.
    """
    said.check_json(json)
    from coterie.cli import tables
    from coterie.experiments import bench as benchmarks
    from coterie.experiments.problems import BadInputError, Problem, unknown

    known = [*benchmarks.names(), ATTACKS]
    wrong = [Problem("", unknown("benchmark", name, known)) for name in names or [] if name not in known]
    if any(one is not None for one in (seeds, rounds, attack, dataset)) and names != [ATTACKS]:
        wrong.append(Problem("", "--seeds, --rounds, --attack and --dataset are of `coterie bench attacks`"))
    if names and ATTACKS in names and len(names) > 1:
        wrong.append(Problem("", "attacks is measured by itself: coterie bench attacks"))
    if wrong:
        raise BadInputError(wrong)
    if names == [ATTACKS]:
        _attacks(seeds, rounds, attack, dataset, json)
        return
    measured = benchmarks.bench(names or [])
    said.write_json(json, measured)
    if json == "-":
        return
    rows = [{"name": name, **{key: _shown(value) for key, value in found.items()}} for name, found in measured.items()]
    titles = {"name": "benchmark", "seconds": "seconds", "reference_seconds": "reference", "ratio": "times", "what": "what"}
    said.console().print(tables.listing(rows, titles))


def _attacks(seeds: str | None, rounds: int | None, attack: str | None, dataset: str | None, json: str | None) -> None:
    """Runs the attack suite; every number is told on the error stream as it comes."""
    from coterie.cli import tables
    from coterie.experiments import attacks

    suite, started = _suite(seeds, rounds, attack, dataset), perf_counter()
    progress, found = said.console(json, progress=True), []
    for row in attacks.rows(suite):
        found.append(row)
        progress.print(" ".join(_cells(row).values()))
    document = attacks.document(suite, found, started)
    said.write_json(json, {ATTACKS: document})
    if json == "-":
        return
    titles = {
        "attack": "attack",
        "where": "where",
        "what": "what",
        "value": "measured",
        "interval": "95 % interval",
        "bar": "promised",
        "kept": "kept",
    }
    out = said.console()
    out.print(tables.listing([_cells(row) for row in found], titles))
    kept, task, count = document["kept"], suite.task, len(suite.seeds)
    out.print(
        f"\n{count} {'seed' if count == 1 else 'seeds'}, {task.rounds} rounds of {task.cohort} of {task.clients} clients,"
        f" {task.share:.0%} of which attack. Of the promises {kept['yes']} are kept, {kept['no']} are not, and"
        f" {kept['open']} are open: the interval reaches across the bar."
    )


def _suite(seeds: str | None, rounds: int | None, attack: str | None, dataset: str | None) -> Suite:
    """What the flags ask for."""
    from coterie.data import load
    from coterie.experiments import attacks
    from coterie.experiments.attacks.cells import Task
    from coterie.experiments.problems import BadInputError, Problem

    given = flags.seeds(seeds or "3")
    many = tuple(range(1, given + 1)) if isinstance(given, int) else tuple(given) if isinstance(given, list) else ()
    problems = [] if many else [Problem("--seeds", f"must be a number from 1, or a list such as 1,2,5, not '{seeds}'")]
    chosen = tuple(word.strip() for word in attack.split(",") if word.strip()) if attack else attacks.NAMES
    settings: dict[str, Any] = {}
    try:
        settings = {"rounds": rounds} if rounds is not None else {}
        Task(**settings)
    except ValueError as error:
        problems.append(Problem("--rounds", str(error).removeprefix("rounds: ")))
    try:
        attacks.Suite(attacks=chosen)
    except ValueError as error:
        problems.append(Problem("--attack", str(error)))
    try:
        load(dataset or "digits")
    except ValueError as error:
        problems.append(Problem("--dataset", str(error)))
    if problems:
        raise BadInputError(problems)
    return attacks.Suite(Task(dataset=dataset or "digits", **settings), chosen, many)


def _cells(row: Row) -> Mapping[str, str]:
    """One number as people read it: shares and accuracies in percent."""
    percent = row.what in ("found", "accused", "excluded", "accuracy", "selections")

    def shown(value: float | None) -> str:
        if value is None:
            return "–"
        points = 100 * value
        return f"{points:.1f} %" if percent else f"{points:+.1f}" if row.what == "against calm" else f"{value:.2f}"

    floor = "≥" if row.at_least else "≤"
    return {
        "attack": row.attack,
        "where": row.where,
        "what": row.what,
        "value": shown(row.value),
        "interval": "–" if row.low is None else f"{shown(row.low)} … {shown(row.high)}",
        "bar": "–" if row.bar is None else f"{floor} {shown(row.bar)}",
        "kept": row.kept or "–",
    }


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.3g}"
