"""The suite as a whole: which runs, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, get_args

from coterie.experiments.attacks.cells import BELIEVE, Found, Task, run, selections
from coterie.experiments.attacks.scoring import Row, mean, ratio, share
from coterie.experiments.attacks.words import SLANDERS, Slander, trust_error
from coterie.experiments.problems import unknown
from coterie.trust.recommendations import How

FREE_RIDERS = ("free-rider", "return", "noise", "delta")
"""Attacks of which it is promised that they are found; of "free-rider" each attacker does one of the others."""
COPIERS = ("delta-noise", "copy", "copy-noise", "replay", "replay-model", "selfish")
POISON = ("nan", "norm", "sign-flip", "replacement")
"""Attacks of which it is promised that they do not matter."""
NAMES = (*FREE_RIDERS, *COPIERS, *POISON, *BELIEVE, *SLANDERS)
"""All attacks of the suite."""
FOUND, ACCUSED = 0.99, {0.5: 0.01, 0.1: 0.03}
LOSS, SHARE, OFTEN, ERROR = -0.02, 0.02, 1.1, 0.1
LIARS = 0.3
"""The share of the peers that lie about others."""
RIDE = "return"
"""What those do about whom peers lie."""


@dataclass(frozen=True)
class Suite:
    """What is to be measured."""

    task: Task = field(default_factory=Task)
    attacks: tuple[str, ...] = NAMES
    seeds: tuple[int, ...] = (1, 2, 3)
    alphas: tuple[float, ...] = (0.5, 0.1)
    lies: tuple[float, ...] = (2.0, 10.0)
    """How many times the truth liars tell."""
    runs: dict[tuple[str, float], list[Found]] = field(default_factory=dict, compare=False, repr=False)
    """Runs that were played, by attack and partition."""

    def __post_init__(self) -> None:
        for name in self.attacks:
            if name not in NAMES:
                raise ValueError(unknown("attack", name, NAMES))
        if not self.seeds:
            raise ValueError("seeds: must be one at least")

    def played(self, attack: str, alpha: float) -> list[Found]:
        """The runs of an attack, one a seed; each is played once."""
        if (attack, alpha) not in self.runs:
            self.runs[attack, alpha] = [run(self.task, attack, alpha, seed) for seed in self.seeds]
        return self.runs[attack, alpha]


def rows(suite: Suite) -> Iterator[Row]:
    """All numbers, as they come."""
    for attack in suite.attacks:
        if attack in BELIEVE:
            yield from _believed(suite, attack)
        elif attack in get_args(Slander):
            yield from _slandered(suite, attack)  # type: ignore[arg-type]
        else:
            yield from _fought(suite, attack)


def document(suite: Suite, found: Sequence[Row], started: float) -> dict[str, Any]:
    """Everything for machines."""
    task = suite.task
    return {
        "rows": [row.plain() for row in found],
        "seeds": list(suite.seeds),
        "dataset": task.dataset,
        "clients": task.clients,
        "cohort": task.cohort,
        "attackers": task.share,
        "rounds": task.rounds,
        "window": task.window,
        "seconds": perf_counter() - started,
        "kept": {word: sum(row.kept == word for row in found) for word in ("yes", "no", "open")},
    }


def _fought(suite: Suite, attack: str) -> Iterator[Row]:
    """Free-riders, copiers and poisoners against the audit, beside the run in which nobody attacks."""
    for alpha in suite.alphas:
        found, calm, where = suite.played(attack, alpha), suite.played("none", alpha), f"Dirichlet {alpha:g}"
        caught = share([one.caught for one in found], [one.attackers for one in found])
        accused = share([one.accused for one in found], [one.honest for one in found])
        lost = mean([one.accuracy - other.accuracy for one, other in zip(found, calm, strict=True)])
        selected = mean([one.share for one in found])
        promised = FOUND if attack in FREE_RIDERS else None
        quiet = LOSS if attack in POISON else None
        influence = None if attack == "selfish" else SHARE
        count = len(found)
        yield Row(attack, where, "found", *caught, promised, True, sum(one.attackers for one in found))
        yield Row(attack, where, "accused", *accused, ACCUSED.get(alpha), False, sum(one.honest for one in found))
        excluded = share([one.excluded for one in found], [one.honest for one in found])
        yield Row(attack, where, "excluded", *excluded, None, False, sum(one.honest for one in found))
        yield Row(attack, where, "accuracy", *mean([one.accuracy for one in found]), None, True, count)
        yield Row(attack, where, "against calm", *lost, quiet, True, count)
        yield Row(attack, where, "selections", *selected, influence, False, count)


def _believed(suite: Suite, attack: str) -> Iterator[Row]:
    """Liars against each method that goes by what they say: without the audit the largest lie, with it all."""
    task, alpha = suite.task, suite.alphas[0]
    for name in BELIEVE[attack]:
        for audited in (False, True) if task.audit is not None else (False,):
            true = [selections(task, name, "none", 1.0, alpha, seed, audited) for seed in suite.seeds]
            for lie in suite.lies if audited else suite.lies[-1:]:
                told = [selections(task, name, attack, lie, alpha, seed, audited) for seed in suite.seeds]
                where = f"{name}{', audited' if audited else ''}"
                last = audited or task.audit is None
                what = f"chosen, lie ×{lie:g}"
                yield Row(attack, where, what, *ratio(told, true), OFTEN if last else None, False, len(suite.seeds))


def _slandered(suite: Suite, attack: Slander) -> Iterator[Row]:
    """Peers who lie about others, with the mean of words and with their median."""
    alpha = suite.alphas[0]
    hows: tuple[How, ...] = get_args(How)
    for how in hows:
        found = suite.played(RIDE, alpha)
        moved = [trust_error(attack, one.met, one.who, LIARS, seed, how) for one, seed in zip(found, suite.seeds, strict=True)]
        yield Row(attack, f"{how} of words", "trust error", *mean(moved), ERROR, False, len(suite.seeds))
