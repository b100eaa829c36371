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
  coterie partition --scheme two-level --clients 40 --beside iid,dirichlet,shards --plot beside.png
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
    beside: Annotated[
        str | None, typer.Option(help="Other schemes or partition files to measure beside it, with commas between.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw it, or with --beside the measures of all, into this file (.png, .svg or .pdf).")
    ] = None,
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

    wanted, how, others = _targets(target), _scheme(given, sets), _others(beside)
    samples = _data(dataset, data_dir, clients, seed)
    parted, document = _parted(how, samples, clients, seed, wanted)
    document = {"dataset": samples.name, **document, **measure(parted, samples).asdict()}
    all_of_them = {f"{how.name}, as set" if how.name in others else how.name: parted}
    all_of_them |= {name: _parted(one, samples, clients, seed, {}, "--beside")[0] for name, one in others.items()}
    if others:
        document["beside"] = {name: measure(one, samples).asdict() for name, one in all_of_them.items()}
    if out is not None:
        parted.save(out)
        document["file"] = str(out)
    if plot is not None:
        _draw(all_of_them, samples, plot)
        document["plot"] = str(plot)
    said.write_json(json, document)
    if json != "-":
        _show(document)


SCHEME_FLAGS = ("shards", "classes", "alpha", "beta", "clusters", "min_size")
BESIDE = ("empty_clients", "entropy", "sparsity", "js", "size_min", "size_max", "size_gini")
PICTURES = (".png", ".svg", ".pdf")


def _scheme(given: dict[str, Any], sets: list[str] | None) -> Scheme:
    from coterie.experiments.reading import Reader

    reader = Reader({}, {})
    for path, (flag, value) in flags.overrides(given, [f"partition.{text}" for text in sets or ()]).items():
        reader.override(path, flag.replace("--partition", "--scheme").replace("--set partition.", "--set "), value)
    return reader.scheme()


def _others(beside: str | None) -> dict[str, Scheme]:
    """The schemes that are measured beside the one that was asked for, by name."""
    names = [word.strip() for word in beside.split(",")] if beside is not None else []
    if len(set(names)) < len(names):
        raise said.wrong("--beside", f"names a scheme twice: {beside}")
    from coterie.experiments.reading import Reader

    found = {}
    for name in names:
        reader = Reader({}, {})
        reader.override(("partition", "scheme"), "--beside", name)
        found[name] = reader.scheme()
    return found


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
    scheme: Scheme, samples: Dataset, clients: int, seed: int, targets: dict[str, float], flag: str = ""
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
        raise said.wrong(*_blamed(str(error), flag)) from None
    seconds = perf_counter() - started
    made = {"scheme": parted.scheme, "settings": dict(parted.settings), "seed": seed, "seconds": seconds}
    return parted, {**made, **more}


def _blamed(message: str, flag: str) -> tuple[str, str]:
    """The flag that a message is about, if it begins with the name of one, and the rest of the message."""
    name, _, rest = message.partition(": ")
    named = f"--{name.replace('_', '-')}"
    return (named, rest) if not flag and name in ("target", "clients", *SCHEME_FLAGS) else (flag, message)


def _draw(partitions: dict[str, Partition], samples: Dataset, plot: Path) -> None:
    """One partition as it is, or the measures of several."""
    from coterie.data.pictures import picture, side_by_side

    (first, *others) = partitions.values()
    (side_by_side(partitions, samples) if others else picture(first, samples)).savefig(plot)


def _show(document: dict[str, Any]) -> None:
    from coterie.cli import tables

    console, beside = said.console(), document.get("beside", {})
    for name, value in document.items():
        if name != "beside":
            console.print(f"{name:>14}  {_shown(value)}", markup=False, soft_wrap=True)
    if beside:
        rows = [{"scheme": name, **{key: _shown(value) for key, value in one.items()}} for name, one in beside.items()]
        console.print("")
        console.print(tables.listing(rows, {key: key for key in ("scheme", *BESIDE)}))


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(item)}" for name, item in value.items()) or "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
