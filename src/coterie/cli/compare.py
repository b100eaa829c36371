"""`coterie compare`: methods × seeds on one federation."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli import flags, said

if TYPE_CHECKING:
    from coterie.experiments.config import Where
    from coterie.experiments.experiment import Experiment

EXAMPLES = """\b
Examples:
  coterie compare   # five methods on handwritten digits
  coterie compare --dataset fashion-mnist --partition shards --shards 2 --rounds 150 --methods uniform,oort --target 0.69
  coterie compare --partition dirichlet --alpha 0.1 --availability 0.8 --set oort.penalty=1
  coterie compare mine.toml --seeds 1,2,5 --json results.json
  coterie compare --show-config > mine.toml
"""


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EXAMPLES)(compare)


def compare(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE.toml]", help="An experiment; flags count more than it.")] = None,
    methods: Annotated[str | None, typer.Option(help="Methods with commas between; see `coterie methods`.")] = None,
    rounds: Annotated[int | None, typer.Option(help="How many rounds.")] = None,
    seeds: Annotated[str | None, typer.Option(help="A number of seeds, or a list such as 1,2,5.")] = None,
    clients: Annotated[int | None, typer.Option(help="How many clients there are.")] = None,
    per_round: Annotated[int | None, typer.Option(help="How many are chosen in a round.")] = None,
    target: Annotated[float | None, typer.Option(help="Accuracy whose first crossing is reported.")] = None,
    baseline: Annotated[str | None, typer.Option(help="The method that others are compared to.")] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", metavar="METHOD.NAME=VALUE", help="A setting of a method, or of a table.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="What is learned; see `coterie data`.")] = None,
    data_dir: Annotated[str | None, typer.Option(help="Where data files are looked for first.")] = None,
    partition: Annotated[str | None, typer.Option(help="Who holds which data: a scheme, or a partition file (.npz).")] = None,
    shards: Annotated[int | None, typer.Option(help="Shards of each client.")] = None,
    classes: Annotated[int | None, typer.Option(help="Classes of each client.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Concentration of a Dirichlet scheme.")] = None,
    beta: Annotated[float | None, typer.Option(help="Its second level.")] = None,
    clusters: Annotated[int | None, typer.Option(help="Clusters of alike samples.")] = None,
    min_size: Annotated[int | None, typer.Option(help="Samples that each client holds at least.")] = None,
    holdout: Annotated[float | None, typer.Option(help="Share of samples kept back for questions.")] = None,
    model: Annotated[str | None, typer.Option(help="Architecture: linear, mlp, mlp:128-64, cnn, …")] = None,
    local_epochs: Annotated[int | None, typer.Option(help="Epochs of local training.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Samples of a mini-batch.")] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate.")] = None,
    momentum: Annotated[float | None, typer.Option(help="Momentum.")] = None,
    weight_decay: Annotated[float | None, typer.Option(help="Weight decay.")] = None,
    backbone: Annotated[str | None, typer.Option(help="How clients train: sgd, prox, …")] = None,
    aggregator: Annotated[str | None, typer.Option(help="How replies are averaged, for all methods.")] = None,
    trust: Annotated[str | None, typer.Option(help="Who says how far clients are believed, for all methods: audit, …")] = None,
    evaluate_every: Annotated[int | None, typer.Option(help="Rounds between evaluations.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu, or such as cuda.")] = None,
    availability: Annotated[float | None, typer.Option(help="Share of rounds in which a client is there.")] = None,
    presence: Annotated[str | None, typer.Option(help="always, random, markov, diurnal or trace.")] = None,
    attack: Annotated[str | None, typer.Option(help="What some clients do: free-rider, copy, sign-flip, false-loss, …")] = None,
    attackers: Annotated[float | None, typer.Option(help="The share of the clients that do so; 0.2 if not given.")] = None,
    deadline: Annotated[float | None, typer.Option(help="Simulated seconds after which a reply is late.")] = None,
    engine: Annotated[str | None, typer.Option(help="What trains: simulation, or flower.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Cells at a time; one a core if not given.")] = None,
    on: Annotated[str, typer.Option(help="A joblib backend, such as ray://HOST:PORT.")] = "loky",
    out: Annotated[Path | None, typer.Option(help="The run's folder; runs/NAME if not given.")] = None,
    checkpoint_every: Annotated[float, typer.Option(help="Seconds between checkpoints, at least.")] = 2.0,
    show_config: Annotated[bool, typer.Option("--show-config", help="Print the resolved experiment and end.")] = False,
    json: said.Json = None,
) -> None:
    """Compare methods on one federation, over several seeds.

    Stores every round under `runs/`, prints a table and writes a report. Ctrl-C stops after the current round;
    `coterie resume` goes on from there.
    """
    given = dict(locals())
    experiment, where = resolve(file, given, sets)
    if show_config:
        from coterie.experiments import config

        print(config.text(experiment), end="")
        return
    said.check_json(json)
    start(experiment, where, file=file, out=out, jobs=jobs, on=on, every=checkpoint_every, json=json)


def resolve(file: Path | None, given: dict[str, Any], sets: list[str] | None) -> tuple[Experiment, Where]:
    """The experiment of a file, or of the example where none is given, with what the flags say."""
    from coterie.experiments import config

    changes = flags.overrides(given, sets)
    if file is not None:
        return config.located(file, changes)
    example = files("coterie.experiments").joinpath("digits.toml").read_text(encoding="utf-8")
    experiment, where = config.parse(example if given.get("dataset") in (None, "digits") else "", changes)
    return experiment, lambda setting: _flag(where(setting))


def _flag(where: str) -> str:
    """A flag; lines of the built-in example mean nothing to who gave no file."""
    return where if where.startswith("-") else ""


def start(
    experiment: Experiment,
    where: Where,
    *,
    file: Path | None,
    out: Path | None,
    jobs: int | None,
    on: str,
    every: float,
    json: str | None,
    workers: int | None = None,
    superlink: str | None = None,
) -> None:
    """Starts a run and plays it to its end."""
    from coterie.cli.playing import play
    from coterie.experiments import grid, run

    grid.check_backend(on)
    grid.check_jobs(jobs)
    name = file.stem if file else run.name_of(experiment)
    store = run.start(experiment, out or run.free_name(Path("runs"), name), where)
    play(store, experiment, jobs=jobs, on=on, every=every, json=json, workers=workers, superlink=superlink)
