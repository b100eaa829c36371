"""What is wrong with an input: all of it at once, each with where it stands and what would be right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong."""

    where: str
    """'line 3', or the flag; empty where no single place is to blame."""
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


class BadInputError(ValueError):
    """An input that is refused, with everything that is wrong with it."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("\n".join(map(str, self.problems)))


def unknown(kind: str, name: str, allowed: Iterable[str]) -> str:
    """Says that a name is not known, which is nearest, and which there are.

    >>> unknown("dataset", "digit", ["digits", "mnist"])
    "there is no dataset 'digit'; did you mean 'digits'? Allowed: digits, mnist"
    """
    names = sorted(allowed)
    near = get_close_matches(str(name), names, n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else "."
    return f"there is no {kind} '{name}'{hint} Allowed: {', '.join(names) or 'none'}"
