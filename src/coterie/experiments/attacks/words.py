"""Peers who lie about peers: what bad-mouthing and ballot-stuffing do to trust."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coterie import seeds
from coterie.trust.recommendations import How, Words, subjective_trust, word

Slander = Literal["bad-mouthing", "ballot-stuffing"]
SLANDERS: tuple[Slander, ...] = ("bad-mouthing", "ballot-stuffing")


def trust_error(slander: Slander, met: NDArray[np.int64], who: NDArray[np.bool_], liars: float, seed: int, how: How) -> float:
    """How far the trust of those who are lied about is moved, in the mean, where so many of the clients lie.

    `met` are the good and the bad rounds of each client, as others saw them in a run of the suite; everybody who meets a
    client saw these, and says so, or lies: bad-mouthers say 0 of honest clients, ballot-stuffers 1 of dishonest ones. Of
    a client's objective trust nothing changes, so trust, the mean of both, moves by half as much as what peers say.
    """
    clients, dice = len(met), seeds.rng(seed, "slander", slander)
    target = ~who if slander == "bad-mouthing" else who
    lying = dice.permutation(clients) < round(liars * clients)
    truth = np.repeat(word(met[:, 0], met[:, 1])[:, np.newaxis], clients, axis=1)
    told = np.where(lying[np.newaxis, :] & target[:, np.newaxis], float(slander == "ballot-stuffing"), truth)
    others = ~np.eye(clients, dtype=bool)
    about = np.repeat(np.arange(clients), clients - 1)
    honest, false = (subjective_trust(Words(about, said[others]), clients, how) for said in (truth, told))
    moved = np.abs(false - honest)[target] / 2
    return float(moved.mean()) if len(moved) else 0.0
