"""From a document's plain values to an `Experiment`, collecting whatever is wrong and where it stands."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar

from coterie.data import SCHEMES, Saved, Scheme
from coterie.experiments import methods
from coterie.experiments.experiment import DEFAULT_METHODS, Entry, Experiment
from coterie.experiments.lines import line_of
from coterie.experiments.problems import BadInputError, Problem, unknown
from coterie.federation import Steps
from coterie.rules import Aggregator, Believer
from coterie.settings import Parameter, parameters_of
from coterie.simulation import World

Kind = TypeVar("Kind")
Path = tuple[str, ...]
Doc = dict[str, Any]
Overrides = Mapping[Path, tuple[str, Any]]
"""Values from outside the file: by path the flag that gave it, and the value."""

MOST_SEEDS = 10_000
LIMITS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "clients": ("a whole number from 1", lambda v: v >= 1),
    "per_round": ("a whole number from 1", lambda v: v >= 1),
    "rounds": ("a whole number from 1 to 10,000,000", lambda v: 1 <= v <= 10_000_000),
    "evaluate_every": ("a whole number from 1", lambda v: v >= 1),
    "target": ("in (0, 1]", lambda v: 0 < v <= 1),
    "enough_rounds": ("a whole number from 1", lambda v: v >= 1),
    "byte_budget": ("a number above 0", lambda v: v > 0),
    "holdout": ("in [0, 1)", lambda v: 0 <= v < 1),
    "client_test_size": ("a whole number from 1", lambda v: v >= 1),
    "deadline": ("a number above 0", lambda v: v > 0),
    "use_first": ("a whole number from 1", lambda v: v >= 1),
    "min_replies": ("a whole number from 0", lambda v: v >= 0),
}
COMMON: dict[str, Parameter] = {
    "aggregator": Parameter("aggregator", Aggregator | None, None, "How replies are averaged; each method's own if not given."),
    "trust": Parameter("trust", Believer | None, None, "Who says how far clients are believed; everybody is if not given."),
    "deadline": Parameter("deadline", float | None, None, "Simulated seconds after which a reply is late."),
    "use_first": Parameter("use_first", int | None, None, "Over-selection: only so many replies are used, the earliest."),
    "min_replies": Parameter("min_replies", int | None, None, "With fewer usable replies a round changes nothing."),
}
"""Settings of the file's top that stand for the same setting of every method that has it."""
SPECIAL: dict[str, Parameter] = {
    "seeds": Parameter("seeds", int | tuple[int, ...], 3),
    "methods": Parameter("methods", tuple[str, ...], DEFAULT_METHODS, "The methods that are compared."),
    "backbone": Parameter("backbone", Any, "sgd"),
}
OFFERED: dict[str, type[Scheme]] = {**SCHEMES, "saved": Saved}
"""What `scheme` in [partition] may name."""
UNSAID = frozenset({"behaviors"})
"""Settings that only Python can give."""
TABLES = ("partition", "training", "world", "set")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")


@dataclass
class Reader:
    """Reads one document."""

    document: Doc
    lines: Mapping[Path, int]
    flags: dict[Path, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def scheme(self) -> Scheme:
        """The partitioning scheme alone."""
        made = self._partition(self._is_table("partition"))
        if made is None:
            raise BadInputError(self.problems)
        return made

    def override(self, path: Path, flag: str, given: Any) -> None:
        """Puts a value from outside in place of what the file says.

        With another scheme, the settings of the file's scheme go; with other methods, the settings of those that do
        not take part. A partition file is the scheme 'saved'.
        """
        if path == ("partition", "scheme") and self._other_scheme(given):
            self.document["partition"] = {}
        if path == ("partition", "scheme") and str(given).endswith(".npz"):
            self.flags[path] = self.flags["partition", "path"] = flag
            self.document["partition"] = {"scheme": "saved", "path": given}
            return
        if path == ("methods",) and isinstance(self.document.get("set"), dict):
            self.document["set"] = {label: one for label, one in self.document["set"].items() if label in given}
        table: Any = self.document
        for name in path[:-1]:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                return
        table[path[-1]] = given
        self.flags[path] = flag

    def experiment(self) -> Experiment:
        """The experiment that the document describes; raises `BadInputError` with everything that is wrong."""
        top = self._values(top_keys(), (), {name: one for name, one in self.document.items() if name not in TABLES})
        for name in top:
            self._limit(name, top[name])
        tables = {name: self._is_table(name) for name in TABLES}
        partition = self._partition(tables["partition"])
        training = self._made(Steps, ("training",), tables["training"])
        world = self._made(World, ("world",), tables["world"])
        common = {name: self.document[name] for name in COMMON if name in top}
        entries = self._entries(top.pop("methods", DEFAULT_METHODS), tables["set"], common)
        top["seeds"] = self._seeds(top.get("seeds", 3))
        if training is not None:
            self._backbone(top.get("backbone", "sgd"), training)
        self._fits_together(top, [entry.label for entry in entries])
        if not self.problems and partition is not None and training is not None and world is not None:
            own = {name: value for name, value in top.items() if name not in COMMON}
            made = Experiment(partition, world, tuple(entries), training, **own)
            self._recipes(made)
        if self.problems:
            raise BadInputError(sorted(self.problems, key=_by_line))
        return made

    def wrong(self, path: Path, what: str) -> None:
        """Notes that something is wrong, and where."""
        self.problems.append(Problem(self.where(path), what))

    def where(self, path: Path) -> str:
        """The flag, or the line, that says it."""
        if path in self.flags:
            return self.flags[path]
        line = line_of(self.lines, path)
        return "" if line is None else f"line {line}"

    def _other_scheme(self, given: Any) -> bool:
        table = self.document.get("partition")
        return isinstance(table, dict) and table.get("scheme") != given

    def _is_table(self, name: str) -> Doc:
        table = self.document.get(name, {})
        if isinstance(table, dict):
            return table
        self.wrong((name,), f"{name} must be a table, not {shown(table)}")
        return {}

    def _values(self, known: Mapping[str, Parameter], path: Path, table: Doc) -> Doc:
        """The values of a table as its parameters accept them."""
        found = {}
        for name, given in table.items():
            here = (*path, name)
            if name not in known:
                self.wrong(here, unknown(f"key in [{'.'.join(path)}]" if path else "key", name, known))
                continue
            try:
                found[name] = known[name].read(_finite(name, given, known[name]))
            except (ValueError, OverflowError) as error:
                self.wrong(here, f"{'.'.join((*path, ''))}{error}")
        return found

    def _made(self, kind: type[Kind], path: Path, table: Doc) -> Kind | None:
        """A dataclass from a table."""
        before = len(self.problems)
        known = _known(kind)
        found = self._values(known, path, table)
        for name in [name for name, one in known.items() if one.default is MISSING and name not in table]:
            self.wrong(path, f"{'.'.join((*path, name))} must be given: {known[name].allowed}")
        if len(self.problems) > before:
            return None
        try:
            return kind(**found)
        except (ValueError, TypeError, OverflowError) as error:
            what = str(error).removeprefix(f"{path[0]}: ")
            name = re.split(r"\W", what)[0]
            self.wrong((*path, name) if name in table else path, f"{'.'.join(path)}.{what}")
            return None

    def _limit(self, name: str, value: Any) -> None:
        if name in LIMITS and value is not None and not LIMITS[name][1](value):
            self.wrong((name,), f"{name}: must be {LIMITS[name][0]}, not {shown(value)}")

    def _partition(self, table: Doc) -> Scheme | None:
        offered = OFFERED
        name = table.get("scheme", "iid")
        if not isinstance(name, str) or name not in offered:
            self.wrong(("partition", "scheme"), unknown("scheme", str(name), offered))
            return None
        return self._made(offered[name], ("partition",), {key: one for key, one in table.items() if key != "scheme"})

    def _backbone(self, given: Any, training: Steps) -> None:
        try:
            methods.backbone(given, training)
        except (ValueError, TypeError) as error:
            self.wrong(("backbone",), f"backbone: {error}")

    def _seeds(self, given: int | tuple[int, ...]) -> tuple[int, ...]:
        if isinstance(given, int) and not 1 <= given <= MOST_SEEDS:
            self.wrong(("seeds",), f"seeds: must be a number from 1 to {MOST_SEEDS:,} or a list, not {given}")
            return ()
        seeds = tuple(range(1, given + 1)) if isinstance(given, int) else given
        if not 0 < len(set(seeds)) == len(seeds) <= MOST_SEEDS or min(seeds) < 0 or max(seeds) >= 2**63:
            self.wrong(("seeds",), f"seeds: must be different whole numbers from 0, at least one, not {shown(list(seeds))}")
        return seeds

    def _entries(self, names: tuple[str, ...], tables: Doc, common: Doc) -> list[Entry]:
        entries = [entry for name in names if (entry := self._entry(name, tables, common))]
        labels = [methods.label_of(name) for name in names]
        for label in sorted({label for label in labels if labels.count(label) > 1}):
            self.wrong(("methods",), f"methods: must be different, but {label} stands there twice")
        if not names:
            self.wrong(("methods",), "methods: must be one at least")
        for label in [label for label in tables if label not in labels]:
            self.wrong(("set", label), unknown("method that takes part and is called", label, labels))
        return entries

    def _entry(self, name: str, tables: Doc, common: Doc) -> Entry | None:
        label = methods.label_of(name)
        table = tables.get(label, {})
        if not _LABEL.fullmatch(label):
            self.wrong(("methods",), f"methods: a name is made of letters, digits and _ . + -, not {shown(label)}")
            return None
        if not isinstance(table, dict):
            self.wrong(("set", label), f"set.{label} must be a table of settings, not {shown(table)}")
            return None
        method = str(table.get("method", name))
        try:
            known = methods.parameters(method)
        except ValueError as error:
            self.wrong(("set", label, "method") if "method" in table else ("methods",), str(error))
            return None
        own = {key: one for key, one in table.items() if key != "method"}
        self._values(known, ("set", label), own)
        return Entry(label, method, {**{key: one for key, one in common.items() if key in known}, **own})

    def _recipes(self, experiment: Experiment) -> None:
        """Builds every method once, so that settings which do not go together are found before anything runs."""
        for label in experiment.labels:
            try:
                experiment.recipe(label)
            except (ValueError, TypeError, AttributeError) as error:
                text = str(error).removeprefix(f"{label}: ")
                self.wrong(self._blamed(label, text), f"{label}: {text}")

    def _blamed(self, label: str, message: str) -> Path:
        key = message.partition(":")[0]
        if key in self.document.get("set", {}).get(label, {}):
            return ("set", label, key)
        return (key,) if key in self.document else ("methods",)

    def _fits_together(self, top: Doc, labels: list[str]) -> None:
        clients, per_round = top.get("clients", Experiment.clients), top.get("per_round", Experiment.per_round)
        if per_round > clients >= 1:
            self.wrong(("per_round",), f"per_round: must be at most the number of clients, {clients}, not {per_round}")
        if labels and top.get("baseline", labels[0]) not in labels:
            self.wrong(("baseline",), unknown("method that takes part and is called", top["baseline"], labels))
        if top.get("enough_rounds") is not None and top.get("target") is None:
            self.wrong(("enough_rounds",), "enough_rounds: says when to end at a target, so there must be a target too")
        if labels and "baseline" not in top and Experiment.baseline not in labels:
            top["baseline"] = labels[0]


def top_keys() -> dict[str, Parameter]:
    """The keys at the top of the file, but for the tables."""
    known = _known(Experiment)
    own = {one.name: known[one.name] for one in fields(Experiment) if one.name not in (*TABLES, "entries")}
    special = {
        name: Parameter(name, one.type, one.default, own[name].meaning if name in own else "") for name, one in SPECIAL.items()
    }
    return {**own, **COMMON, **special}


def _known(kind: type) -> Mapping[str, Parameter]:
    """What can be set of a class, as a file can say it."""
    return {name: one for name, one in parameters_of(kind).items() if name not in UNSAID}


def shown(value: Any) -> str:
    """A value as a message shows it, cut where it is long."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _finite(name: str, given: Any, known: Parameter) -> Any:
    """Refuses NaN, infinities where the default is none, and numbers that no machine word holds."""
    for one in given if isinstance(given, list) else [given]:
        if isinstance(one, float) and not math.isfinite(one) and one != known.default:
            raise ValueError(f"{name}: must be a finite number, not {one}")
        if isinstance(one, int) and not -(2**63) <= one < 2**63:
            raise ValueError(f"{name}: must be a number of 64 bits at most, not {shown(one)}")
    return given


def _by_line(problem: Problem) -> tuple[int, str]:
    number = re.search(r"line (\d+)", problem.where)
    return (int(number[1]) if number else 0, problem.where)
