"""Where datasets come from: one file a source, and the names by which they are loaded."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from coterie.data.dataset import Dataset
from coterie.data.sources import digits, hugging_face, npz, places
from coterie.data.sources.images import KNOWN
from coterie.data.sources.places import DataDir
from coterie.data.sources.regression import regression
from coterie.data.sources.synthetic import synthetic

MADE: dict[str, Callable[..., Dataset]] = {"synthetic": synthetic, "regression": regression}
"""Generated sets: `synthetic` is `synthetic(1, 1)`, and `synthetic(0.5, 0.5, sizes="equal")` works too."""

NAMES = ("digits", *MADE, *KNOWN)


def load(name: str, data_dir: DataDir = None, *, clients: int | None = None, seed: int | None = None) -> Dataset:
    """Loads a dataset by its name: a known one, a path to an `.npz` file, or `hf:owner/name`.

    `clients` and `seed` are for generated sets, whose natural clients and content depend on them. Nothing is
    downloaded, except by `hf:`, which asks Hugging Face's library.
    """
    if name.endswith(".npz"):
        return npz.load(_user_file(name, data_dir))
    if name.startswith("hf:"):
        return hugging_face.load(name.removeprefix("hf:"))
    base, _, arguments = name.partition("(")
    known = canonical(base)
    if known in MADE:
        return _made(known, name, arguments, {"clients": clients, "seed": seed})
    if arguments:
        raise ValueError(f"dataset: '{known}' takes no arguments, but was given '({arguments}'")
    return _digits() if known == "digits" else places.load(known, data_dir)


def canonical(name: str) -> str:
    """The name as Coterie writes it: `FashionMNIST` and `fashion_mnist` are `fashion-mnist`."""
    bare = {re.sub(r"[^a-z0-9]", "", known): known for known in NAMES}
    asked = re.sub(r"[^a-z0-9]", "", name.lower())
    if asked in bare:
        return bare[asked]
    near = difflib.get_close_matches(asked, bare, n=1)
    hint = f"; did you mean '{bare[near[0]]}'?" if near else ""
    raise ValueError(f"dataset: there is none called '{name}'{hint} Allowed: {', '.join(NAMES)}, FILE.npz, hf:OWNER/NAME")


@cache
def _digits() -> Dataset:
    return digits.load()


def _made(known: str, name: str, arguments: str, given: dict[str, Any]) -> Dataset:
    settings: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    try:
        call = ast.parse(f"f({arguments if arguments else ')'}", mode="eval").body
        assert isinstance(call, ast.Call)
        values = [ast.literal_eval(value) for value in call.args]
        settings |= {str(pair.arg): ast.literal_eval(pair.value) for pair in call.keywords}
    except (SyntaxError, ValueError, AssertionError):
        raise ValueError(f"dataset: '{name}' cannot be read; write such as synthetic(1, 1) or regression(2, 1)") from None
    try:
        return MADE[known](*values, **settings)
    except TypeError as error:
        raise ValueError(f"dataset: '{name}': {error}") from None


def _user_file(name: str, data_dir: DataDir) -> Path:
    path = Path(name).expanduser()
    if data_dir and not path.is_file() and (Path(data_dir) / name).is_file():
        return Path(data_dir) / name
    return path
