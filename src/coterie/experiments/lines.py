"""On which line of a TOML file each key stands; the standard library's parser does not tell."""

from __future__ import annotations

import re
from collections.abc import Mapping

Path = tuple[str, ...]

_WORD = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = rf"{_WORD}(?:\s*\.\s*{_WORD})*"
_TABLE = re.compile(rf"\s*\[\[?\s*({_DOTTED})\s*\]\]?")
_ENTRY = re.compile(rf"\s*({_DOTTED})\s*=")
_NOISE = re.compile(r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL)


def lines_of(text: str) -> dict[Path, int]:
    r"""The line, counted from 1, of every table and every key of a valid TOML file.

    >>> lines_of("rounds = 3\n[set.oort]\nalpha = 2")
    {('rounds',): 1, ('set',): 2, ('set', 'oort'): 2, ('set', 'oort', 'alpha'): 3}
    """
    found: dict[Path, int] = {}
    table: Path = ()
    depth = 0
    for number, (line, bare) in enumerate(zip(text.split("\n"), _blank(text).split("\n"), strict=True), start=1):
        if depth == 0 and bare.strip():
            if match := _TABLE.match(line):
                table = _words(match[1])
                _note(found, table, number)
                continue
            if match := _ENTRY.match(line):
                _note(found, table + _words(match[1]), number)
        depth += sum(map(bare.count, "[{")) - sum(map(bare.count, "]}"))
    return found


def line_of(found: Mapping[Path, int], path: Path) -> int | None:
    """The line of a key, or of the nearest table around it."""
    while path:
        if path in found:
            return found[path]
        path = path[:-1]
    return None


def _blank(text: str) -> str:
    """The text with strings and comments blanked out, lines kept; a quoted key still shows that a key is there."""
    return _NOISE.sub(
        lambda match: re.sub(r"[^\n]", " " if match[0][:3] in ('"""', "'''") or match[0][0] == "#" else "~", match[0]), text
    )


def _words(dotted: str) -> Path:
    return tuple(word[1:-1] if word[0] in "\"'" else word for word in re.findall(_WORD, dotted))


def _note(found: dict[Path, int], path: Path, number: int) -> None:
    for end in range(1, len(path) + 1):
        found.setdefault(path[:end], number)
