"""FedTrust's coalitions: devices want to be with those whom they trust (thesis, section 3.4).

A coalition is worth its members' mean trust (Eq. 3.2), and −∞ to whoever believes that another of its members is selfish: trust
strictly below the threshold (Eq. 3.4).

Read as printed, the moves never end and no structure is Nash stable: a member above the mean would rather be alone, and the
lowest always wants in. The default differs in two places. To be alone is worth 0, since the server never trains those who are
alone; and a coalition does not let a suspect in. Then there is one stable structure for each trust vector, up to ties:
all honest devices together, each selfish one alone. Moves in a fixed order can still go in circles around it; in random
order they got there in every run that was tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.coalitions.dynamics import Course, better_response
from coterie.coalitions.games import Additive, Game, Summed
from coterie.coalitions.leaders import Masters
from coterie.coalitions.seating import ALONE, EVERYBODY, Admission, Labels, canonical, prefers
from coterie.coalitions.stability import certified
from coterie.federation import View
from coterie.plan import Coalitions
from coterie.rules import Former

Trust = NDArray[np.float64]
"""What everybody believes of each device; or viewers × devices where beliefs differ."""


@dataclass(frozen=True)
class TrustHedonic(Former):
    """Coalitions of devices that trust each other; those below the threshold end up alone.

    Reads the roster's column 'trust': one value a device, or one for each viewer and device; without it all devices are new,
    and new devices are trusted (1). Where all viewers agree and there is no `max_size`, the structure is written down at once,
    otherwise it is found by moves in random order; the certificate is looked for either way. The source's threshold is
    0.25, at which a device that is found lazy in half its rounds passes; here it is 0.5. Devices that are not present are
    in no coalition.
    """

    threshold: float = 0.5
    """Trust strictly below it makes a suspect."""
    max_size: int | None = None
    """Largest coalition. With a limit there may be no Nash stable structure; the certificate says what was found."""
    reading: Literal["veto", "printed"] = "veto"
    """'printed' is Algorithm 3 with its history, stopped after `max_sweeps`. It starts from everybody together: as long as all
    are new, nobody who is alone would rather be with others, and nobody would ever train."""
    masters: Masters | None = None
    """Who leads; None: coalitions have no leaders."""
    max_sweeps: int = 100
    """Sweeps after which moves that have not ended are stopped."""

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]  # what masters are elected by
        return frozenset() if self.masters is None else frozenset({"cpu", "ram", "bandwidth", "latency"})

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold: must be in [0, 1], not {self.threshold!r}")
        if self.reading not in ("veto", "printed"):
            raise ValueError(f"reading: must be 'veto' or 'printed', not {self.reading!r}")
        if self.reading == "printed" and self.max_size is not None:
            raise ValueError("max_size: the printed reading has no largest size")
        Admission(max_size=self.max_size)

    def form(self, view: View, state: Any) -> Coalitions:
        everybody = view.roster["trust"] if "trust" in view.roster else np.ones(len(view.roster))
        trust = everybody[view.present].astype(np.float64)
        found = self.structure(trust if trust.ndim == 1 else trust[:, view.present], view.rng)
        labels = np.full(len(view.roster), -1, np.intp)
        labels[view.present] = found.labels
        if self.masters is None:
            return Coalitions(labels, certificate=found.certificate)
        leaders, stand_ins = self.masters.elect(view.roster, labels)
        return Coalitions(labels, leaders, found.certificate, stand_ins=stand_ins)

    def structure(self, trust: Trust, rng: np.random.Generator) -> Coalitions:
        """The coalitions for a trust vector (or viewers × devices), with their certificate."""
        if self.reading == "printed":
            together = np.zeros(len(trust), np.intp)
            course = printed_moves(trust, self.threshold, rng, together, max_sweeps=self.max_sweeps)
            return certified(course, trust_game(trust, self.threshold, solo=None), reading=self.reading)
        game, admission = trust_game(trust, self.threshold), vetoes(trust, self.threshold, self.max_size)
        if trust.ndim == 1 and self.max_size is None:
            course = Course(honest_together(trust, self.threshold), True, False, 0, 0)
        else:
            start = sorted_blocks(trust, self.threshold, self.max_size) if trust.ndim == 1 else None
            course = better_response(game, start, admission, max_sweeps=self.max_sweeps, rng=rng)
        return certified(course, game, admission, reading=self.reading)


def trust_game(trust: ArrayLike, threshold: float, solo: float | None = 0.0) -> Game:
    """The game of Eq. 3.2 and 3.4; `solo` is what it is worth to be alone, None for one's own trust (as printed)."""
    beliefs = _checked(trust)
    suspect = beliefs < threshold
    if beliefs.ndim == 2:
        others = ~np.eye(len(beliefs), dtype=bool)
        return Additive(np.where(suspect & others, -np.inf, beliefs), average=True, alone=solo)

    def worth(own: Trust, sums: Trust) -> Trust:
        total, size, suspects = sums[..., 0], sums[..., 1], sums[..., 2] - own[..., 2]
        mean = total / size if solo is None else np.where(size < 1.5, solo, total / size)
        return np.where(suspects > 0.5, -np.inf, mean)

    return Summed(np.column_stack([beliefs, np.ones(len(beliefs)), suspect]), worth)


def vetoes(trust: ArrayLike, threshold: float, max_size: int | None = None) -> Admission:
    """Who is not let in: suspects; where beliefs differ, whoever a member suspects."""
    return Admission(barred=_checked(trust) < threshold, max_size=max_size)


def honest_together(trust: Trust, threshold: float) -> Labels:
    """All who are not suspected in one coalition, everybody else alone.

    >>> honest_together(np.array([0.9, 0.1, 0.6, 0.2]), 0.5).tolist()
    [0, 1, 0, 2]
    """
    return sorted_blocks(trust, threshold, None)


def sorted_blocks(trust: Trust, threshold: float, max_size: int | None) -> Labels:
    """Those who are not suspected in blocks of `max_size` by falling trust, everybody else alone.

    >>> sorted_blocks(np.array([0.9, 0.1, 0.6, 0.8]), 0.5, 2).tolist()
    [0, 1, 2, 0]
    """
    beliefs = _checked(trust)
    honest = np.flatnonzero(beliefs >= threshold)
    labels = np.arange(len(beliefs)) + len(beliefs)
    by_trust = honest[np.argsort(-beliefs[honest], kind="stable")]
    labels[by_trust] = np.arange(len(honest)) // (max_size or max(len(honest), 1))
    return canonical(labels, len(beliefs))


def printed_moves(
    trust: ArrayLike, threshold: float, rng: np.random.Generator, start: ArrayLike | None = None, *, max_sweeps: int = 100
) -> Course:
    """Algorithm 3 as printed: nobody is asked, to be alone is worth one's own trust, and what one left is worth 0.

    A device moves to a coalition at random among those that it prefers, so it is content only after looking at all (the
    source lets it look at one, after which a sweep without a move says nothing). Sets that it joined and left are
    remembered by a random code for each device, combined by exclusive or. Starts from everybody alone unless told otherwise.
    """
    game = trust_game(trust, threshold, solo=None)
    seating = game.seat(np.arange(game.players) if start is None else start, EVERYBODY)
    codes = rng.integers(1, 2**63, game.players, dtype=np.int64)
    left: list[set[int]] = [set() for _ in range(game.players)]
    moves = 0
    for sweep in range(1, max_sweeps + 1):
        moved = 0
        for player in range(game.players):
            own, code = int(seating.labels[player]), int(codes[player])
            sets = np.zeros(len(seating.counts), np.int64)
            np.bitwise_xor.at(sets, seating.labels, codes)
            joined = sets ^ np.where(np.arange(len(sets)) == own, 0, code)
            worth = _remembered(np.append(seating.offers(player), seating.solo(player)), np.append(joined, code), left[player])
            better = np.flatnonzero(prefers(worth, worth[own]))
            if len(better):
                target = int(rng.choice(better))
                left[player].add(int(sets[own]))
                seating.move(player, target if target < len(sets) else ALONE)
                moved += 1
        moves += moved
        if not moved:
            return Course(canonical(seating.labels, game.players), True, False, sweep, moves)
    return Course(canonical(seating.labels, game.players), False, False, max_sweeps, moves)


def _remembered(worth: Trust, sets: NDArray[np.int64], left: set[int]) -> Trust:
    """Worths with 0 for sets that the device left, unless they are −∞."""
    known = np.isin(sets, np.fromiter(left, np.int64, len(left)))
    return np.where(known & np.isfinite(worth), 0.0, worth)


def _checked(trust: ArrayLike) -> Trust:
    beliefs = np.asarray(trust, np.float64)
    square = beliefs.ndim == 2 and beliefs.shape[0] == beliefs.shape[1]
    if not (beliefs.ndim == 1 or square) or not ((beliefs >= 0) & (beliefs <= 1)).all():
        raise ValueError("trust: must be numbers in [0, 1], one a device, or one for each viewer and device")
    return beliefs
