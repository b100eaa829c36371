"""The marketplace's Figures 5.2 to 5.4 and Tables 5.2 to 5.4 (thesis, chapter 5), on Fashion-MNIST and 500 clients.

Settings: `conditions` (Figure 5.2: auctions under a scarce and a moderate budget), `dp` (Table 5.2), `pipp` (Figure 5.4:
reputations from five earlier tasks, or none), `priors` (Table 5.3: what newcomers begin with), `gap` (Table 5.4: Algorithm 9
and the best set of 20 clients). Without `--setting` all are played. K-MNIST (Figure 5.3, and Table 5.3 in the source) cannot
be had by the usual ways; Fashion-MNIST stands in for it.

Where the source is silent, and what stands there here: how skewed the data are (Dirichlet 0.1 within clients when scarce,
0.5 when moderate), what low reputation does to training (a share of 0.7, or 0.3, of clients trains in at most half of the
rounds and sends noise in the others, which costs nothing), how reputations are made up (half conduct, half entropy of labels),
model and local steps (MLP, two epochs at 0.05, all winners in each of 50 rounds), which test samples count (all, and those of
the required classes), and the mechanism behind its ε (see `_hired.Blurs`). Nobody is left out of the model for what an audit
says: reputation alone has to keep bad clients away. Ours is scored by `scale="market"`; `ours-printed` as printed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from coterie import data, seeds
from coterie.data import Dataset
from coterie.experiments import metrics
from coterie.experiments.problems import BadInputError, Problem, unknown
from coterie.experiments.reproduce import Options
from coterie.experiments.reproduce._hired import UNIT, Blurs, History, People, train
from coterie.market import Award, Bids, Task, clear
from coterie.market.rivals import exhaustive, fair, naive, rrafl

QUOTAS = {0: 900, 1: 900, 4: 750, 8: 150, 9: 600}
WEIGHTS = {0: 1.0, 1: 1.0, 4: 1.5, 8: 3.0, 9: 1.5}
RESERVE = 40 * UNIT
MARKETS = {"scarce": (1200, 0.1, 0.7), "moderate": (1600, 0.5, 0.3)}
"""Budget in AU, Dirichlet's α, share of unreliable clients."""
AUCTIONS: dict[str, Callable[[Task, Bids], Award]] = {
    "ours": lambda task, bids: clear(task, bids, scale="market"),
    "ours-printed": lambda task, bids: clear(task, bids),
    "fair": fair,
    "rrafl": rrafl,
    "naive": naive,
}
SOURCE: dict[str, Any] = {
    "scarce": {"ours": (71.4, 38), "fair": (67.5, 44), "rrafl": (64.5, 66), "naive": (52.1, 103)},
    "moderate": {"ours": (83.0, 53), "fair": (80.0, 55), "rrafl": (79.1, 86), "naive": (77.3, 114)},
    "dp": {"none": 85.27, "25": 82.06, "20": 81.67},
    "pipp": {"with": 71.00, "without": 48.84},
    "priors": {"0": 73.14, "0.3": 73.75, "0.5": 77.85, "1": 79.93},
    "gap": {"greedy": 91.00, "exhaustive": 91.25},
}
ROUNDS = 50
Row = dict[str, float]
Cell = dict[str, Row]
"""By name of a row: what one seed comes to."""


def task(budget: int, classes: int = 10, printed: bool = False) -> Task:
    """The source's task; with `printed` a weight for prices in AU, else for their shares of the reserve."""
    quotas, weights = np.zeros(classes, np.int64), np.ones(classes)
    quotas[list(QUOTAS)], weights[list(QUOTAS)] = list(QUOTAS.values()), list(WEIGHTS.values())
    price = 0.01 / UNIT if printed else 1.0
    return Task(quotas=quotas, weights=weights, budget=budget * UNIT, reserve_price=RESERVE, price_weight=price)


def run(options: Options) -> Mapping[str, Any]:
    """Plays one setting, or all."""
    names = [options.setting] if options.setting else list(PLAYED)
    if names[0] not in PLAYED:
        raise BadInputError([Problem("--setting", unknown("setting", names[0], PLAYED))])
    if options.methods:
        raise BadInputError([Problem("--methods", "each setting has its own; choose by --setting")])
    usual, dataset = {"gap": 20}, None
    found = {}
    for name in names:
        if name != "gap" and dataset is None:
            dataset = data.load("fashion-mnist", options.data_dir)
        chosen = _seeds(options.seeds, usual.get(name, 3))
        cells = _each(options.jobs, PLAYED[name], dataset, chosen, options.rounds or ROUNDS)
        found[name] = summed(cells)
        show(name, found[name])
    return {"settings": found, "source": SOURCE}


def conditions(dataset: Dataset, seed: int, rounds: int) -> Cell:
    """Figure 5.2: accuracy and winners of every auction, under both budgets."""
    cell: Cell = {}
    for market, (budget, alpha, low) in MARKETS.items():
        people = People.of(dataset, alpha, low, seed)
        for name, auction in AUCTIONS.items():
            asked = task(budget, dataset.classes, name.endswith("printed"))
            award = auction(asked, people.bids(people.reputations))
            cell[f"{market} {name}"] = {
                **_trained(people, award, rounds),
                "winners": len(award.winners),
                "filled": float(np.average(award.coverage[asked.required])),
                "paid": award.paid / (budget * UNIT),
            }
    return cell


def dp(dataset: Dataset, seed: int, rounds: int) -> Cell:
    """Table 5.2: accuracy without and with noise, in a moderate market with a budget of 1,800."""
    _, alpha, low = MARKETS["moderate"]
    people = People.of(dataset, alpha, low, seed)
    award = clear(task(1800, dataset.classes), people.bids(people.reputations), scale="market")
    ways = {"none": None, "25": Blurs(25.0), "20": Blurs(20.0), "5": Blurs(5.0)}
    return {name: _trained(people, award, rounds, blur) for name, blur in ways.items()}


def pipp(dataset: Dataset, seed: int, rounds: int) -> Cell:
    """Figure 5.4: a sixth task with the reputations that five earlier ones left behind, and one without."""
    budget, alpha, low = MARKETS["scarce"]
    people, asked = People.of(dataset, alpha, low, seed), task(budget, dataset.classes)
    history = History.newcomers(len(people.prices))
    for number in range(1, 6):
        history = history.after_task(people, asked, number)
    cell = {}
    for name, reputations in (("with", history.reputations), ("without", np.zeros(len(people.prices)))):
        award = clear(asked, people.bids(reputations), scale="market")
        cell[name] = {**_trained(people, award, rounds, at=(20, 30)), "winners": len(award.winners)}
    return cell


def priors(dataset: Dataset, seed: int, rounds: int) -> Cell:
    """Table 5.3: the tenth task of a market of 400 established clients and 100 newcomers, who begin with a prior."""
    budget, alpha, low = MARKETS["scarce"]
    people, asked = People.of(dataset, alpha, low, seed), task(budget, dataset.classes)
    new = np.arange(len(people.prices)) >= 400
    cell = {}
    for prior in (0.0, 0.3, 0.5, 1.0):
        history = History.established(people, new, prior)
        shares = []
        for number in range(1, 10):
            history = history.after_task(people, asked, number)
            shares.append(float(new[history.last].mean()))
        award = clear(asked, people.bids(history.reputations), scale="market")
        shares.append(float(new[award.winners].mean()))
        cell[f"{prior:g}"] = {
            **_trained(people, award, rounds),
            "newcomers_first": shares[0],
            "newcomers": float(np.mean(shares)),
            "winners": len(award.winners),
        }
    return cell


def gap(dataset: Dataset | None, seed: int, rounds: int) -> Cell:
    """Table 5.4: 20 clients share 6,000 samples of three classes; a budget of 70 AU, quotas of 300."""
    from sklearn.datasets import make_classification

    dice = seeds.rng(seed, "market gap")
    x, y = make_classification(8000, 20, n_informative=8, n_classes=3, class_sep=1.5, random_state=seed)
    made = data.Dataset.of("synthetic", x[:6000].astype(np.float32), y[:6000], x[6000:].astype(np.float32), y[6000:])
    people = People.of(made, 0.5, 0.0, seed, clients=20)
    bids = people.bids(dice.uniform(0.2, 1, 20))
    asked = Task(quotas=np.full(3, 300), budget=70 * UNIT, reserve_price=RESERVE)
    best, ours = exhaustive(asked, bids, "market"), clear(asked, bids, scale="market")
    if best.unmet or ours.unmet:
        return {}
    awards, most = {"greedy": ours, "exhaustive": best}, best.scores[best.winners].sum()
    useful = {name: float(award.scores[award.winners].sum() / most) for name, award in awards.items()}
    return {
        name: {
            **_trained(people, award, rounds),
            "winners": len(award.winners),
            "utility": useful[name],
        }
        for name, award in awards.items()
    }


PLAYED: dict[str, Callable[..., Cell]] = {"conditions": conditions, "dp": dp, "pipp": pipp, "priors": priors, "gap": gap}


def summed(cells: Sequence[Cell]) -> dict[str, dict[str, Any]]:
    """By row and figure: mean, deviation and interval over the seeds that have it."""
    rows = dict.fromkeys(name for cell in cells for name in cell)
    return {
        row: {
            figure: asdict(metrics.over_seeds([cell[row][figure] for cell in cells if row in cell]))
            for figure in next(cell[row] for cell in cells if row in cell)
        }
        for row in rows
    }


def show(name: str, found: Mapping[str, Mapping[str, Any]]) -> None:
    """Prints a setting beside the source's numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    figures = list(next(iter(found.values()), {}))
    table = Table(title=TITLES[name], title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for title in ("", *(figure.replace("_", " ") for figure in figures), "source"):
        table.add_column(title, justify="right" if title else "left")
    for row, one in found.items():
        shown = [_plain(one[figure], percent=figure not in ("winners", "paid", "utility")) for figure in figures]
        table.add_row(row, *shown, _source(name, row))
    Console().print(table)
    if not found:
        print("No seed had a set of clients that fills the quotas.")


TITLES = {
    "conditions": "Figure 5.2: accuracy (%) on all test samples and on those of the required classes, and winners",
    "dp": "Table 5.2: noise on updates, by ε",
    "pipp": "Figure 5.4: the sixth task, with reputations from five before and without",
    "priors": "Table 5.3: what newcomers begin with",
    "gap": "Table 5.4: Algorithm 9 and the best set, 20 clients",
}


def _source(name: str, row: str) -> str:
    if name == "conditions":
        market, method = row.split(" ", 1)
        accuracy, winners = SOURCE[market].get(method, (None, None))
        return "–" if accuracy is None else f"{accuracy} %, {winners} clients"
    value = SOURCE[name].get(row)
    return "–" if value is None else f"{value} %"


def _plain(one: Mapping[str, Any], percent: bool) -> str:
    times = 100 if percent else 1
    spread = f" ± {times * one['sd']:.{1 if percent else 2}f}" if one["sd"] is not None else ""
    return f"{times * one['mean']:.{1 if percent else 2}f}{spread}"


def _trained(people: People, award: Award, rounds: int, blur: Blurs | None = None, at: Sequence[int] = ()) -> Row:
    """Accuracies of an award's cohort after training, and how reliable it is."""
    required = np.asarray(award.task.required)
    if not len(award.winners):
        return {"accuracy": 0.1, "required": 0.2, "reliable": 0.0}
    course = train(people, award.winners, required, rounds, blur=blur)
    earlier = {f"round_{t}": course.everything[course.rounds.index(t)] for t in at if t in course.rounds}
    reliable = float(people.reliability[award.winners].mean())
    return {**earlier, "accuracy": course.everything[-1], "required": course.required[-1], "reliable": reliable}


def _each(
    jobs: int | None, played: Callable[..., Cell], dataset: Dataset | None, chosen: Sequence[int], rounds: int
) -> list[Cell]:
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs=jobs or -1)(delayed(played)(dataset, seed, rounds) for seed in chosen))


def _seeds(given: str | None, usual: int) -> list[int]:
    try:
        if given is not None and "," in given:
            return [int(seed) for seed in given.rstrip(",").split(",")]
        number = usual if given is None else int(given)
    except ValueError:
        number = 0
    if number < 1:
        raise BadInputError([Problem("--seeds", f"must be a number of seeds, or a list such as 1,2,5, not {given!r}")])
    return list(range(1, number + 1))
