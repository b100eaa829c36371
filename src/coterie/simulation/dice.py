"""Every die that the engine throws, with its address: what another engine must throw too to get the same models.

A client is known by its key, so nothing depends on who else trains, on workers, or on order. The partition, and the
clients' splits of what they hold, are thrown in `coterie.data`, from the same seed.
"""

from __future__ import annotations

import hashlib
from dataclasses import astuple, is_dataclass

import numpy as np
from numpy.typing import NDArray

from coterie import seeds
from coterie.federation import Steps


def initial(seed: int) -> int:
    """The seed of the common initial model."""
    return seeds.derive(seed, "model") % 2**63


def epochs(seed: int, round: int, key: str, purpose: str, descent: int, samples: int, steps: Steps) -> NDArray[np.intp]:
    """The order of the samples in each epoch of a client's nth descent of a round, as many epochs as are begun.

    The purpose is 'train', or 'tune' where a model is only tuned to be judged.

    >>> epochs(1, 1, "7", "train", 0, samples=3, steps=Steps(epochs=9, batch_size=2, max_steps=3)).shape
    (2, 3)
    """
    dice = seeds.rng(seed, round, key, purpose, descent)
    batches = -(-samples // steps.batch_size)
    begun = steps.epochs if steps.max_steps is None else min(steps.epochs, -(-steps.max_steps // batches))
    return dice.permuted(np.tile(np.arange(samples), (begun, 1)), axis=1)


def dropout(seed: int, round: int, key: str, purpose: str, descent: int) -> int:
    """The seed of the dropout of a client's nth descent of a round."""
    return seeds.derive(seed, round, key, purpose, descent, "dropout") % 2**63


def batch(seed: int, round: int, key: str, samples: int, size: int) -> NDArray[np.intp]:
    """The mini-batch over which a client answers in a round: the same for every model that it is asked about."""
    return np.sort(seeds.rng(seed, round, key, "batch").choice(samples, min(size, samples), replace=False))


def noise(seed: int, round: int, key: str, question: object, row: int, model: NDArray[np.float32]) -> np.random.Generator:
    """A client's noise on an answer about a row of models: asked again in the round, it repeats it.

    Any other question, or the same about another model, gets other noise: the same noise on two answers could be
    taken off both of them.
    """
    return seeds.rng(seed, round, key, "noise", spelled(question), row, fingerprint(model))


def spelled(question: object) -> str:
    """A question in words that are the same whichever way its numbers are held.

    >>> spelled((1, np.float32(0.5), "loss", None)), spelled((1.0, 0.5, "loss", None))
    ("(1.0,0.5,'loss',None)", "(1.0,0.5,'loss',None)")
    """
    if is_dataclass(question) and not isinstance(question, type):
        question = astuple(question)
    if isinstance(question, tuple | list):
        return f"({','.join(spelled(one) for one in question)})"
    return repr(float(question)) if isinstance(question, int | float | np.number) else repr(question)


def fingerprint(model: NDArray[np.float32]) -> str:
    """What tells a model from any other."""
    return hashlib.blake2b(np.ascontiguousarray(model).tobytes(), digest_size=16).hexdigest()


def report(seed: int, key: str, address: str, numbers: object = ()) -> np.random.Generator:
    """A client's noise on what it reports of itself: the address says what, on which occasion, about which model.

    Other bounds or another ε get other noise.
    """
    return seeds.rng(seed, key, "report", address, spelled(numbers))


def world(seed: int, what: str, round: int | None = None) -> np.random.Generator:
    """What befalls the clients, in key order, in a round or once for all."""
    return seeds.rng(seed, "world", what, *(() if round is None else (round,)))
