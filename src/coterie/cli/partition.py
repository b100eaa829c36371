"""`coterie partition`: makes a partition, measures it, keeps it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli import flags, said

if TYPE_CHECKING:
    from coterie.data import Dataset, Partition, Scheme

EXAMPLES = """\b
Examples:
  coterie partition --scheme shards --shards 2 --clients 100
  coterie partition --dataset fashion-mnist --clients 1000 --scheme two-level --clusters 10 --alpha 0.5 --beta 0.1 --json -
  coterie partition --scheme dirichlet --alpha 0.3 --out mine.npz --plot mine.png
  coterie partition --target entropy=1.2,size_gini=0.3
  coterie compare --partition mine.npz
"""


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EXAMPLES)(partition)


def partition(
    dataset: Annotated[str, typer.Option(help="What is parted; see `coterie data`.")] = "digits",
    data_dir: Annotated[str | None, typer.Option(help="Where data files are looked for first.")] = None,
    clients: Annotated[int, typer.Option(help="Among how many clients.")] = 100,
    scheme: Annotated[str | None, typer.Option(help="How: iid (the default), dirichlet, two-level, shards, …")] = None,
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
    target: Annotated[
        str | None, typer.Option(help="Find alpha (and beta) for measures, such as entropy=1.2,size_gini=0.3.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the partition into this file (.png, .svg or .pdf).")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the partition to this file (.npz).")] = None,
    json: said.Json = None,
) -> None:
    """Part a dataset among clients, and measure how unlike they are."""
    given = {"partition": scheme or ("two-level" if target else "iid")}
    given |= {name: value for name, value in locals().items() if name in SCHEME_FLAGS}
    said.check_json(json)
    for flag, path in (("--out", out), ("--plot", plot)):
        said.check_folder(flag, path)
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise said.wrong("--plot", f"must end in {', '.join(PICTURES)}, not '{plot.suffix}'")
    from coterie.data import measure

    wanted = _targets(target)
    samples, how = _data(dataset, data_dir, clients, seed), _scheme(given, sets)
    parted, document = _parted(how, samples, clients, seed, wanted)
    document = {"dataset": samples.name, **document, **measure(parted, samples).asdict()}
    if out is not None:
        parted.save(out)
        document["file"] = str(out)
    if plot is not None:
        _draw(parted, samples, plot)
        document["plot"] = str(plot)
    said.write_json(json, document)
    if json != "-":
        for name, value in document.items():
            said.console().print(f"{name:>14}  {_shown(value)}", markup=False, soft_wrap=True)


SCHEME_FLAGS = ("shards", "classes", "alpha", "beta", "clusters", "min_size")
PICTURES = (".png", ".svg", ".pdf")


def _scheme(given: dict[str, Any], sets: list[str] | None) -> Scheme:
    from coterie.experiments.reading import Reader

    reader = Reader({}, {})
    for path, (flag, value) in flags.overrides(given, [f"partition.{text}" for text in sets or ()]).items():
        reader.override(path, flag.replace("--partition", "--scheme").replace("--set partition.", "--set "), value)
    return reader.scheme()


def _data(name: str, data_dir: str | None, clients: int, seed: int) -> Dataset:
    from coterie import data

    try:
        return data.load(name, data_dir, clients=clients, seed=seed)
    except (ValueError, OSError) as error:
        raise said.wrong("--dataset", str(error)) from None


def _targets(text: str | None) -> dict[str, float]:
    """'entropy=1.2,size_gini=0.3' as numbers by name."""
    found = {}
    for word in (text or "").split(",") if text is not None else ():
        name, _, value = word.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            raise said.wrong("--target", f"must be such as entropy=1.2,size_gini=0.3, not '{text}'") from None
    return found


def _parted(
    scheme: Scheme, samples: Dataset, clients: int, seed: int, targets: dict[str, float]
) -> tuple[Partition, dict[str, Any]]:
    """The partition, and how it was made; the seconds are those of parting, or of searching for the targets."""
    from time import perf_counter

    from coterie.data.targeting import aim

    started = perf_counter()
    try:
        if targets:
            aimed = aim(targets, samples, clients, scheme, seed)
            parted, more = aimed.partition, {"target": targets, "misses": dict(aimed.misses), "reached": aimed.reached}
        else:
            parted, more = scheme.split(samples, clients, seed), {}
    except ValueError as error:
        raise said.wrong("--target" if str(error).startswith("target:") else "", str(error)) from None
    seconds = perf_counter() - started
    made = {"scheme": parted.scheme, "settings": dict(parted.settings), "seed": seed, "seconds": seconds}
    return parted, {**made, **more}


def _draw(parted: Partition, samples: Dataset, plot: Path) -> None:
    from coterie.data.pictures import picture

    picture(parted, samples).savefig(plot)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(item)}" for name, item in value.items()) or "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
