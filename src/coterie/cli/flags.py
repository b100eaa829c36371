"""From flags to the keys of an experiment's file; what a flag says counts more than the file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

FLAGS: dict[str, tuple[str, ...]] = {
    "partition": ("partition", "scheme"),
    "methods": ("methods",),
    "dataset": ("dataset",),
    "data_dir": ("data_dir",),
    "engine": ("engine",),
    "model": ("model",),
    "clients": ("clients",),
    "per_round": ("per_round",),
    "rounds": ("rounds",),
    "seeds": ("seeds",),
    "baseline": ("baseline",),
    "target": ("target",),
    "holdout": ("holdout",),
    "evaluate_every": ("evaluate_every",),
    "aggregator": ("aggregator",),
    "backbone": ("backbone",),
    "trust": ("trust",),
    "deadline": ("deadline",),
    "device": ("device",),
    "shards": ("partition", "per_client"),
    "classes": ("partition", "classes"),
    "alpha": ("partition", "alpha"),
    "beta": ("partition", "beta"),
    "clusters": ("partition", "clusters"),
    "min_size": ("partition", "min_size"),
    "local_epochs": ("training", "epochs"),
    "batch_size": ("training", "batch_size"),
    "lr": ("training", "lr"),
    "momentum": ("training", "momentum"),
    "weight_decay": ("training", "weight_decay"),
    "availability": ("world", "availability"),
    "presence": ("world", "presence"),
    "attack": ("world", "attack"),
    "attackers": ("world", "attackers"),
}
"""The key that each flag sets."""
TABLES = ("partition", "training", "world")

Overrides = dict[tuple[str, ...], tuple[str, Any]]


def overrides(given: Mapping[str, Any], sets: Sequence[str] | None) -> Overrides:
    """What flags and `--set` say, by key, with the flag that says it."""
    from coterie.experiments.problems import BadInputError, Problem

    found: Overrides = {}
    problems = []
    for name, path in FLAGS.items():
        if given.get(name) is not None:
            found[path] = (f"--{name.replace('_', '-')}", value_of(name, given[name]))
    for text in sets or ():
        key, equals, value = text.partition("=")
        target = path_of(key.strip())
        if not equals or target is None:
            problems.append(Problem("--set", f"must be such as oort.penalty=2 or training.decay=0.99, not '{text}'"))
            continue
        found[target] = (f"--set {key.strip()}", plain(value.strip()))
    if problems:
        raise BadInputError(problems)
    return found


def value_of(name: str, value: Any) -> Any:
    """What a flag's text means."""
    if name == "methods":
        return [word.strip() for word in value.split(",") if word.strip()]
    return seeds(value) if name == "seeds" else value


def seeds(text: str) -> Any:
    """'3' is the seeds 1 to 3; '1,2,5' are those.

    >>> seeds("3"), seeds("1,2,5"), seeds("7,")
    (3, [1, 2, 5], [7])
    """
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() for word in words if word):
        return text
    return int(text) if len(words) == 1 and words[0] else [int(word) for word in words if word]


def path_of(key: str) -> tuple[str, ...] | None:
    """'oort.penalty' belongs to a method, 'world.day' to a table of the file."""
    table, _, rest = key.partition(".")
    if not rest:
        return None
    if table in TABLES:
        return (table, *rest.split("."))
    label, _, name = key.rpartition(".")
    return ("set", label, name) if name else None


def plain(text: str) -> Any:
    """A value as TOML reads it; a text where it is no TOML.

    >>> plain("0.9"), plain("[1, 2]"), plain("true"), plain("krum")
    (0.9, [1, 2], True, 'krum')
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, KeyError, RecursionError):
        return text
