"""Subjective trust: what peers say of a device from rounds that they spent with it, and both kinds of trust together.

A peer's word is its own experience: the mean (1 + good)/(2 + good + bad) of a Beta posterior over the rounds in a common
coalition, where a round is good if the device's update arrived and was not flagged. Words are kept as edges, one number a pair
that met, so their cost grows with the meetings and not with the square of the devices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

How = Literal["mean", "median"]


@dataclass(frozen=True, eq=False)
class Words:
    """What was said: one entry a pair, of the device that it is about and the word in [0, 1]."""

    about: NDArray[np.intp]
    words: NDArray[np.float64]

    def __post_init__(self) -> None:
        about, words = np.asarray(self.about, np.intp), np.asarray(self.words, np.float64)
        if about.shape != words.shape or about.ndim != 1:
            raise ValueError(f"words: one device for each word, but there are {about.shape} and {words.shape}")
        if not ((words >= 0) & (words <= 1)).all():
            raise ValueError("words: must be in [0, 1]")
        object.__setattr__(self, "about", about)
        object.__setattr__(self, "words", words)


@dataclass(frozen=True, eq=False)
class Experience:
    """How many good and bad rounds each device saw of each other: observers × observed.

    >>> seen = Experience.none(3).after(companions([0, 0, 1]), [True, False, True])
    >>> seen.words().about.tolist(), seen.words().words.round(3).tolist()
    ([1, 0], [0.333, 0.667])
    """

    good: sparse.csr_array
    bad: sparse.csr_array

    @classmethod
    def none(cls, devices: int) -> Experience:
        """Nobody has met anybody."""
        empty = sparse.csr_array((devices, devices), dtype=np.float64)
        return cls(empty, empty)

    def after(self, met: sparse.csr_array, good: ArrayLike) -> Experience:
        """The experience after a round: who met whom in it, and whose update arrived and was not flagged.

        `good` is one value for each device, or observers × observed where observers saw different things.
        """
        pairs = sparse.csr_array(met, dtype=np.float64)
        well = sparse.csr_array(pairs.multiply(np.broadcast_to(np.asarray(good, np.float64), pairs.shape)))
        return Experience(sparse.csr_array(self.good + well), sparse.csr_array(self.bad + (pairs - well)))

    def words(self) -> Words:
        """What observers would say of those whom they met; nobody is asked about itself."""
        met = sparse.coo_array(self.good + self.bad)
        other = (met.row != met.col) & (met.data > 0)
        observers, about = met.row[other], met.col[other]
        good = np.asarray(self.good[observers, about]).ravel()
        bad = np.asarray(self.bad[observers, about]).ravel()
        return Words(about.astype(np.intp), word(good, bad))


def word(good: ArrayLike, bad: ArrayLike) -> NDArray[np.float64]:
    """The mean of a Beta(1 + good, 1 + bad) posterior.

    >>> word([0, 8], [0, 0]).tolist()
    [0.5, 0.9]
    """
    well, ill = np.asarray(good, np.float64), np.asarray(bad, np.float64)
    return np.asarray((1 + well) / (2 + well + ill))


def companions(labels: ArrayLike) -> sparse.csr_array:
    """Who met whom in a round of coalitions: all pairs within each. Costs the sum of the squares of their sizes."""
    which = np.asarray(labels, np.intp)
    inside = np.flatnonzero(which >= 0)
    shape = (len(which), int(which.max(initial=-1)) + 1)
    belongs = sparse.csr_array((np.ones(len(inside)), (inside, which[inside])), shape=shape)
    met = sparse.csr_array(belongs @ belongs.T)
    met.setdiag(0)
    met.eliminate_zeros()
    return met


def subjective_trust(said: Words, devices: int, how: How = "mean") -> NDArray[np.float64]:
    """The mean or the median of the words about each device; NaN where nobody says anything.

    The median cannot be moved past an honest word by fewer than half of those who speak.

    >>> subjective_trust(Words([0, 0, 0], [0.1, 0.1, 1.0]), 2, "median").tolist()
    [0.1, nan]
    """
    if how not in ("mean", "median"):
        raise ValueError(f"how: must be 'mean' or 'median', not {how!r}")
    count = np.bincount(said.about, minlength=devices)
    if len(count) > devices:
        raise ValueError(f"words: about device {said.about.max()}, but there are {devices}")
    spoken = count > 0
    score = np.full(devices, np.nan)
    if how == "mean":
        score[spoken] = np.bincount(said.about, weights=said.words, minlength=devices)[spoken] / count[spoken]
        return score
    ordered = said.words[np.lexsort((said.words, said.about))]
    first = (np.cumsum(count) - count)[spoken]
    middle = count[spoken] - 1
    score[spoken] = (ordered[first + middle // 2] + ordered[first + (middle + 1) // 2]) / 2
    return score


def overall_trust(objective: ArrayLike, said: Words, how: How = "mean") -> NDArray[np.float64]:
    """Both kinds together (Eq. 3.1): (n τ + Σ words)/2n, which is (τ + mean word)/2; τ where nobody says anything.

    >>> overall_trust([0.2, 1.0], Words([0, 0], [0.1, 0.1])).round(3).tolist()
    [0.15, 1.0]
    """
    own = np.asarray(objective, np.float64)
    if own.ndim != 1 or not ((own >= 0) & (own <= 1)).all():
        raise ValueError("objective: must be one number in [0, 1] for each device")
    heard = subjective_trust(said, len(own), how)
    return np.where(np.isnan(heard), own, (own + heard) / 2)
