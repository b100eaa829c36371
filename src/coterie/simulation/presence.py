"""Who can be reached in a round: pure functions of seed and round, so that a resumed run needs no memory of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.simulation import dice

Flags = NDArray[np.bool_]
"""One flag a client."""


def at_random(seed: int, round: int, clients: int, availability: float) -> Flags:
    """Each client is there with the same chance, each round anew."""
    return dice.world(seed, "presence", round).random(clients) < availability


def markov(seed: int, round: int, clients: int, availability: float, stay: float) -> Flags:
    """A client that is there stays for `stay` rounds in the mean, and is away so long that `availability` comes out.

    Each round one die moves all states alike: below the chance to appear it ends in 'there', from the chance to
    stay on in 'away', between them it changes nothing. So the last die that decided tells today's state, and
    looking back until one did gives the stationary chain without its past.
    """
    come, remain = markov_chances(availability, stay)
    there = np.zeros(clients, dtype=bool)
    open_ = np.ones(clients, dtype=bool)
    for back in count():
        thrown = dice.world(seed, "presence", round - back).random(clients)
        there |= open_ & (thrown < come)
        open_ &= (thrown >= come) & (thrown < remain)
        if not open_.any():
            break
    return there


def markov_chances(availability: float, stay: float) -> tuple[float, float]:
    """The chances that one who is away comes, and that one who is there remains.

    >>> markov_chances(0.5, 10)
    (0.1, 0.9)
    """
    if availability >= 1:
        return 1.0, 1.0
    leave = 1 / stay
    come = leave * availability / (1 - availability)
    if come > 1 - leave + 1e-9:
        least = 1 / (1 - availability)
        raise ValueError(
            f"stay: with availability {availability} a client must stay at least {least:.3g} rounds in the mean, not {stay}"
        )
    return come, 1 - leave


def diurnal(seed: int, round: int, clients: int, availability: float, day: int, swing: float) -> Flags:
    """The chance to be there rises and falls once a `day` of rounds, each client in a time zone of its own (24 of them).

    It swings around `availability`, by `swing` times as far as it can.
    """
    zone = dice.world(seed, "zones").integers(24, size=clients) / 24
    far = swing * min(availability, 1 - availability)
    chance = availability + far * np.cos(2 * np.pi * (round / day - zone))
    return dice.world(seed, "presence", round).random(clients) < chance


def read_trace(path: str, keys: tuple[str, ...]) -> NDArray[np.bool_]:
    """Reads who was there when: rounds × clients, the first row is round 1.

    A CSV file has columns client,round or client,start,end (rounds, both included); a JSON file is a list of such
    objects. Clients of the file are keys of the federation; clients that it does not name are never there.
    """
    spans = [_span(path, number, entry, keys) for number, entry in enumerate(_entries(path), start=1)]
    if not spans:
        raise ValueError(f"{path}: the trace is empty")
    rounds = max(end for _, _, end in spans)
    if rounds * len(keys) > 2**31:
        raise ValueError(f"{path}: {rounds} rounds of {len(keys)} clients are too many; is 'end' a round?")
    there = np.zeros((rounds, len(keys)), dtype=bool)
    row = {key: k for k, key in enumerate(keys)}
    for key, start, end in spans:
        there[start - 1 : end, row[key]] = True
    return there


def _entries(path: str) -> Iterable[Mapping[str, Any]]:
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"trace: there is no file {path}")
    try:
        if file.suffix == ".json":
            entries = json.loads(file.read_text())
            if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
                raise ValueError("the JSON must be a list of objects")
            return entries
        with file.open(newline="") as lines:
            return list(csv.DictReader(lines))
    except (csv.Error, ValueError, RecursionError, OSError) as error:
        raise ValueError(f"{path}: this is no trace file ({error})") from None


def _span(path: str, number: int, entry: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[str, int, int]:
    try:
        start, end = (entry["round"],) * 2 if "round" in entry else (entry["start"], entry["end"])
        span = str(entry["client"]), int(start), int(end)
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"{path}: entry {number} must name client and round, or client, start and end, all but the client whole numbers"
        ) from None
    if span[0] not in keys:
        raise ValueError(f"{path}: entry {number} names client {span[0]!r}; the federation's are {keys[0]} … {keys[-1]}")
    if not 1 <= span[1] <= span[2]:
        raise ValueError(f"{path}: entry {number} lasts from round {span[1]} to {span[2]}; rounds count from 1")
    return span
