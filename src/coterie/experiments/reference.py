"""The reference page of an experiment's file, written from the code: `python -m coterie.experiments.reference`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from coterie.experiments import toml
from coterie.experiments.config import plain
from coterie.experiments.reading import LIMITS, OFFERED, UNSAID, top_keys
from coterie.federation import Steps
from coterie.rooms import rules
from coterie.settings import Parameter, parameters_of
from coterie.simulation import World

HEAD = """\
# An experiment's file

An experiment is a TOML file. `coterie compare FILE.toml` plays it; flags count more than the file.
`coterie compare --show-config` prints it with everything spelled out. That file is stored with the run as
`experiment.toml` and reproduces it. Whatever is wrong with a file is said at once, with lines, before anything runs.

`coterie compare` without a file plays this one:
"""
TABLES = """\

## Tables

- `[partition]`: who holds which data: `scheme` and its settings.
- `[training]`: how far and how fast a client descends.
- `[world]`: who can be reached, how fast, and what goes wrong.
- `[set.NAME]`: settings of the method NAME; `coterie methods NAME` lists them. With `method = "OTHER"`, NAME is a label
  of your own, so that a method can take part twice, with different settings.

A method is a name that `coterie methods` lists, or `module:Class` for a selector of your own.
`aggregator` and `backbone` are names, or tables with a name and settings: `aggregator = {name = "krum", keep = 3}`.
On the command line, `--set NAME.KEY=VALUE` says what `[set.NAME]` says, and `--set world.KEY=VALUE`,
`--set training.KEY=VALUE` and `--set partition.KEY=VALUE` reach the other tables.
"""


def page() -> str:
    """The page as Markdown."""
    example = files("coterie.experiments").joinpath("digits.toml").read_text(encoding="utf-8")
    parts = [HEAD, "```toml\n" + example + "```\n", "## Keys at the top\n", *_table(top_keys()), TABLES]
    parts += [
        "## `[training]`\n",
        *_table(parameters_of(Steps)),
        "",
        "## `[world]`\n",
        *_table({name: one for name, one in parameters_of(World).items() if name not in UNSAID}),
        "",
    ]
    parts += ["## `[partition]`\n", "`scheme` is one of these; the default is `iid`.\n"]
    for name, scheme in OFFERED.items():
        sentence = (scheme.__doc__ or "").partition("\n")[0]
        parts += [f"### `{name}`\n", f"{sentence}\n", *_table(parameters_of(scheme)), ""]
    for room in ("aggregators", "backbones", "trust"):
        parts += [
            f"## {room.capitalize()}\n",
            *(f"- `{name}`: {_sentence(rule)}" for name, rule in sorted(rules(room).items())),
            "",
        ]
    return "\n".join(parts).rstrip() + "\n"


def _table(known: Mapping[str, Parameter]) -> Iterator[str]:
    if not known:
        yield "It has no settings."
        return
    yield "| key | default | allowed | meaning |"
    yield "| --- | --- | --- | --- |"
    for name, one in known.items():
        allowed = LIMITS[name][0] if name in LIMITS else one.allowed
        yield (
            "| "
            + " | ".join(cell.replace("|", "\\|") for cell in (f"`{name}`", _default(one.default), allowed, one.meaning))
            + " |"
        )


def _default(value: Any) -> str:
    shown = plain(value)
    try:
        return "" if shown is None else f"`{toml.value(shown)}`"
    except TypeError:
        return ""


def _sentence(rule: type) -> str:
    return (rule.__doc__ or "").partition("\n\n")[0].replace("\n    ", " ")


if __name__ == "__main__":
    print(page(), end="")
