"""Randomness with an address: every dice has a name made of a seed and where it is thrown."""

import hashlib

import numpy as np


def derive(seed: int, *address: int | str) -> int:
    """Returns the 128-bit number that stands at an address.

    Two addresses that differ anywhere give unrelated numbers, on every machine the same, so that nothing
    depends on the order in which dice are thrown.

    >>> derive(1, "partition") == derive(1, "partition")
    True
    >>> derive(1, 2, "3") == derive(1, "2", 3)
    False
    """
    words = [f"{type(word).__name__[0]}:{word}" for word in map(_plain, (seed, *address))]
    return int.from_bytes(hashlib.blake2b("\0".join(words).encode(), digest_size=16).digest(), "little")


def rng(seed: int, *address: int | str) -> np.random.Generator:
    """Returns the generator that stands at an address, such as `rng(seed, round, client, "train")`.

    >>> bool(rng(1, "a").random() == rng(1, "a").random())
    True
    """
    return np.random.Generator(np.random.PCG64(derive(seed, *address)))


def _plain(word: int | str) -> int | str:
    return word if isinstance(word, str) else int(word)
