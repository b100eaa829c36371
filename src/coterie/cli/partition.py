"""`coterie partition`: makes a partition, measures it, keeps it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli import flags, said

if TYPE_CHECKING:
    from coterie.data import Dataset, Partition

EXAMPLES = """\b
Examples:
  coterie partition --scheme shards --shards 2 --clients 100
  coterie partition --dataset fashion-mnist --clients 1000 --scheme two-level --clusters 10 --alpha 0.5 --beta 0.1 --json -
  coterie partition --scheme dirichlet --alpha 0.3 --out mine.npz
"""


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EXAMPLES)(partition)


def partition(
    dataset: Annotated[str, typer.Option(help="What is parted; see `coterie data`.")] = "digits",
    data_dir: Annotated[str | None, typer.Option(help="Where data files are looked for first.")] = None,
    clients: Annotated[int, typer.Option(help="Among how many clients.")] = 100,
    scheme: Annotated[str, typer.Option(help="How: iid, dirichlet, two-level, shards, …")] = "iid",
    seed: Annotated[int, typer.Option(help="The seed.")] = 1,
    shards: Annotated[int | None, typer.Option(help="Shards of each client.")] = None,
    classes: Annotated[int | None, typer.Option(help="Classes of each client.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Concentration of a Dirichlet scheme.")] = None,
    beta: Annotated[float | None, typer.Option(help="Its second level.")] = None,
    clusters: Annotated[int | None, typer.Option(help="Clusters of alike samples.")] = None,
    min_size: Annotated[int | None, typer.Option(help="Samples that each client holds at least.")] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Another setting of the scheme.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the partition to this file (.npz).")] = None,
    json: said.Json = None,
) -> None:
    """Part a dataset among clients, and measure how unlike they are."""
    given = {"partition": scheme, **{name: value for name, value in locals().items() if name in SCHEME_FLAGS}}
    said.check_json(json)
    from time import perf_counter

    from coterie.data import measure

    samples, parted, seconds = _parted(dataset, data_dir, clients, seed, given, sets, perf_counter)
    measures = {**measure(parted, samples).asdict(), "seconds": seconds}
    document = {"dataset": samples.name, "scheme": parted.scheme, "settings": dict(parted.settings), "seed": seed, **measures}
    if out is not None:
        _save(parted, out)
        document["file"] = str(out)
    said.write_json(json, document)
    if json != "-":
        for name, value in document.items():
            said.console().print(f"{name:>14}  {_shown(value)}", markup=False)


SCHEME_FLAGS = ("shards", "classes", "alpha", "beta", "clusters", "min_size")


def _parted(
    name: str, data_dir: str | None, clients: int, seed: int, given: dict[str, Any], sets: list[str] | None, clock: Any
) -> tuple[Dataset, Partition, float]:
    """The data, the partition, and the seconds that parting took."""
    from coterie import data
    from coterie.experiments.problems import BadInputError, Problem
    from coterie.experiments.reading import Reader

    changes = flags.overrides(given, [f"partition.{text}" for text in sets or ()])
    reader = Reader({}, {})
    for path, (flag, value) in changes.items():
        reader.override(path, flag.replace("--partition", "--scheme").replace("--set partition.", "--set "), value)
    scheme = reader.scheme()
    try:
        samples = data.load(name, data_dir, clients=clients, seed=seed)
    except (ValueError, OSError) as error:
        raise BadInputError([Problem("--dataset", str(error))]) from None
    started = clock()
    try:
        return samples, scheme.split(samples, clients, seed), clock() - started
    except ValueError as error:
        raise BadInputError([Problem("", str(error))]) from None


def _save(parted: Partition, out: Path) -> None:
    from coterie.experiments.problems import BadInputError, Problem

    try:
        parted.save(out)
    except OSError as error:
        raise BadInputError([Problem("--out", f"{out}: {error.strerror}")]) from None


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
