"""Compares the updates of a round with everything that they could have been made of without training.

Everything is done on sketches: signed sums of a few coordinates each, about two thousand of them, which keep angles and
lengths. All cosines come from one product of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from coterie import seeds
from coterie.roster import Ids
from coterie.trust.past import Floats, Past

STEP = "it repeats the last step of the shared model"
OWN_MODEL = "it sent a model of its own again"
OLD_MODEL = "it sent an old shared model"
OWN_UPDATE = "it repeats its own last update"
ANOTHER = "it copies another's update"
STEPS = 3
"""Steps of the shared model that are remembered."""
TOGETHER = 128
"""Updates whose equations are solved at a time."""
FEWEST = 12
"""With fewer updates to compare with, none is said to point against the others."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """What each update is nearest to, and what is left without that."""

    kind: tuple[str, ...]
    part: Floats
    """The part of the square that is explained by the nearest single candidate."""
    missing: Floats
    """What is left of it."""
    chance: Floats
    """How often noise, in place of what is left, would have as much in common with the rest."""
    leaning: Floats
    """From 1, like others in everything that they have in common, to −1."""


@dataclass(frozen=True, eq=False)
class Seen:
    """One round's updates, sketched."""

    clients: Ids
    updates: Floats
    start: Floats
    sent: Floats
    lengths: Floats
    """Of the whole updates, not of their sketches."""
    usual: float
    """The median of these and of others' last lengths."""
    arrival: Floats
    steps: Floats
    """The last steps of the shared model, the newest first."""
    model: Floats

    @classmethod
    def of(
        cls,
        clients: Ids,
        before: NDArray[np.float32],
        after: NDArray[np.float32],
        arrival: Floats,
        past: Past,
        size: int,
        seed: int,
    ) -> Seen:
        """Sketches a round."""
        update = after.astype(np.float64) - before
        lengths = np.sqrt(np.einsum("ij,ij->i", update, update))
        known = past.lengths[np.setdiff1d(np.flatnonzero(~np.isnan(past.lengths)), clients)]
        everything = np.concatenate([lengths, known])
        start = sketched(before, size, seed)
        model = start.mean(axis=0) if len(start) else past.model.astype(np.float64)
        moved = model - past.model if past.round and len(start) and past.model.size else None
        steps = past.steps.astype(np.float64)
        if moved is not None:
            steps = np.concatenate([moved[np.newaxis], steps.reshape(-1, len(moved))])[:STEPS]
        usual = float(np.median(everything)) if len(everything) else 0.0
        return cls(
            clients, sketched(update, size, seed), start, sketched(after, size, seed), lengths, usual, arrival, steps, model
        )

    def nearest(self, past: Past, most: int) -> Nearest:
        """Compares every update with everything that it could have been made of."""
        count, size = self.updates.shape
        own = self._own(past)
        others, whose = self._others(past, most)
        shared = _unit(np.concatenate([self.updates, others, self.steps.reshape(-1, size)]))
        gram = shared @ shared.T
        like = gram[:count].copy()
        like[np.arange(count), np.arange(count)] = 0.0
        again = np.stack([np.einsum("ij,ij->i", shared[:count], one) for one in own.values()], axis=1)
        later = np.zeros(like.shape, dtype=bool)
        later[:, :count] = self.arrival > self.arrival[:, np.newaxis]
        every = np.concatenate([np.where(later, 0.0, like), again], axis=1)
        tie = np.where(np.arange(every.shape[1]) < count + len(others), 0.0, 1e-6)
        best = (np.abs(every) + tie).argmax(axis=1)
        cosine = every[np.arange(count), best]
        kinds = [ANOTHER] * (count + len(others)) + [STEP] * len(self.steps) + list(own)
        kind = [kinds[column] for column in best]
        kind = [STEP if name == OLD_MODEL and sign < 0 else name for name, sign in zip(kind, cosine, strict=True)]
        few = np.concatenate([_spread(count, most), np.arange(count, len(shared))])
        chance = np.empty(count)
        for some in np.array_split(np.arange(count), -(-count // TOGETHER)) if count else []:
            rest, directions = _left_over(gram, few, some, shared, [one[some] for one in own.values()], best, cosine)
            chance[some] = _by_chance(rest, directions, size)
        chance[_empty(shared[:count])] = 0.0
        foreign = np.concatenate([np.ones((count, count), bool), whose != self.clients[:, np.newaxis]], axis=1)
        return Nearest(
            tuple(kind),
            cosine**2,
            np.maximum(1 - cosine**2, 0),
            chance,
            _leaning(np.where(foreign, like[:, : foreign.shape[1]], 0)),
        )

    def twin(self, past: Past) -> Floats:
        """For each reply how like its whole history is to that of the one most like it, as a cosine; FoolsGold's similarity."""
        if not past.sums.shape[1] or not len(self.clients):
            return np.zeros(len(self.clients))
        sums = past.sums.astype(np.float64).copy()
        sums[self.clients] += self.updates
        old = past.honest.copy()
        old[self.clients] += 1
        rows = _unit(sums)
        like = rows[self.clients] @ rows.T
        like[np.arange(len(self.clients)), self.clients] = 0.0
        like[:, old < 3] = 0.0
        like[old[self.clients] < 3] = 0.0
        return np.asarray(like.max(axis=1, initial=0.0))

    def leans(self, past: Past, leaning: Floats) -> Floats:
        """How far each client's updates have pointed with what they are like, added up; credit goes up to 1."""
        return np.asarray(np.minimum(past.leans[self.clients] + leaning, 1.0))

    def remembered(self, past: Past, honest: NDArray[np.bool_], leaning: Floats) -> Past:
        """What is known after the round. Of what was not honest nothing is kept to compare others with."""
        size, ids, good = self.updates.shape[1], self.clients, self.clients[honest]
        if not len(ids):
            return replace(past, round=past.round + 1)
        rows = {name: _grown(getattr(past, name), size) for name in ("last", "sums", "sent", "given")}
        rows["last"][good] = self.updates[honest]
        rows["sums"][good] += self.updates[honest].astype(np.float32)
        rows["sent"][ids] = self.sent
        rows["given"][ids] = self.start
        turns, lengths, leans = past.turns.copy(), past.lengths.copy(), past.leans.copy()
        leans[ids] = self.leans(past, leaning)
        turns[ids] = past.round + 1
        lengths[good] = self.lengths[honest]
        right, wrong = past.honest.copy(), past.dishonest.copy()
        right[good] += 1
        wrong[self.clients[~honest]] += 1
        return replace(
            past,
            round=past.round + 1,
            turns=turns,
            lengths=lengths,
            leans=leans,
            model=self.model.astype(np.float32),
            steps=self.steps.reshape(-1, size).astype(np.float32),
            honest=right,
            dishonest=wrong,
            last=rows["last"],
            sums=rows["sums"],
            sent=rows["sent"],
            given=rows["given"],
        )

    def _others(self, past: Past, most: int) -> tuple[Floats, Ids]:
        """The last believed updates of those who were judged most recently, and whose they are."""
        known = np.flatnonzero(~np.isnan(past.lengths))
        recent = known[np.lexsort((known, -past.turns[known]))][:most]
        return past.last[recent].astype(np.float64).reshape(-1, self.updates.shape[1]), recent

    def _own(self, past: Past) -> dict[str, Floats]:
        """What each client could send again, as directions from the model that it was given; zeros in its first round."""
        ids, zeros = self.clients, np.zeros_like(self.updates)
        if not past.sent.shape[1]:
            return {OWN_UPDATE: zeros, OWN_MODEL: zeros, OLD_MODEL: zeros}
        before = (past.turns[ids] > 0)[:, np.newaxis]
        made = {OWN_UPDATE: past.last[ids], OWN_MODEL: past.sent[ids] - self.start, OLD_MODEL: past.given[ids] - self.start}
        return {name: _unit(np.where(before, one, 0.0)) for name, one in made.items()}


def _left_over(
    gram: Floats,
    few: NDArray[np.intp],
    some: NDArray[np.intp],
    shared: Floats,
    own: list[Floats],
    best: NDArray[np.intp],
    cosine: Floats,
) -> tuple[Floats, NDArray[np.intp]]:
    """For some updates: what part of each, without its nearest, lies toward `few` directions and its own earlier ones.

    Returns the part and the number of directions. All are unit vectors or zero, and an update is no direction for itself.
    """
    count, width = len(some), len(few)
    extra = np.stack([*own, _best_rows(shared, own, some, best)], axis=1)
    inside = np.zeros((count, width + extra.shape[1], width + extra.shape[1]))
    inside[:, :width, :width] = gram[np.ix_(few, few)]
    across = (extra.reshape(-1, extra.shape[2]) @ shared[few].T).reshape(count, -1, width).transpose(0, 2, 1)
    inside[:, :width, width:], inside[:, width:, :width] = across, across.transpose(0, 2, 1)
    inside[:, width:, width:] = extra @ extra.transpose(0, 2, 1)
    beside = (extra @ shared[some][:, :, np.newaxis])[..., 0]
    common = np.concatenate([gram[np.ix_(some, few)], beside], axis=1)
    itself, column = np.nonzero(some[:, np.newaxis] == few)
    inside[itself, column, :], inside[itself, :, column], common[itself, column] = 0.0, 0.0, 0.0
    alive = np.einsum("nkk->nk", inside) > 0.5
    inside += 1e-7 * np.eye(inside.shape[1])
    solved = np.linalg.solve(inside, common[..., np.newaxis])[..., 0]
    part, explained = cosine[some] ** 2, np.clip(np.einsum("nk,nk->n", common, solved), 0, 1)
    rest = np.divide(np.maximum(explained - part, 0), 1 - part, out=np.ones(count), where=1 - part > 1e-12)
    twice = 1 + (np.isin(best[some], few) | (best[some] >= len(shared)))
    return np.clip(rest, 0, 1), np.asarray(alive.sum(axis=1) - np.where(alive[:, -1], twice, 0))


def _best_rows(shared: Floats, own: list[Floats], some: NDArray[np.intp], best: NDArray[np.intp]) -> Floats:
    """The direction nearest to each of some updates."""
    among = np.stack(own, axis=1)
    which = best[some] - len(shared)
    return np.where(
        (which >= 0)[:, np.newaxis], among[np.arange(len(some)), np.maximum(which, 0)], shared[best[some] * (which < 0)]
    )


def _by_chance(rest: Floats, directions: NDArray[np.intp], size: int) -> Floats:
    """How often noise has at least so much in common with so many directions; 0 where there are too few or too many."""
    free = size - 1 - directions
    testable = (directions >= 2) & (free >= 32)
    chance = np.zeros(len(rest))
    chance[testable] = betainc(free[testable] / 2, directions[testable] / 2, 1 - rest[testable])
    return chance


def _leaning(like: Floats) -> Floats:
    """From 1, like others in everything that they have in common, to −1; 0 with too few others. Likeness counts squared."""
    weight = (like**2).sum(axis=1)
    leaning = np.divide((like * np.abs(like)).sum(axis=1), weight, out=np.zeros(len(like)), where=weight > 0)
    return np.where((like != 0).sum(axis=1) >= FEWEST, leaning, 0.0)


def _spread(count: int, most: int) -> NDArray[np.intp]:
    """At most so many of the first numbers, evenly spread."""
    return np.arange(count) if count <= most else np.unique(np.linspace(0, count - 1, max(most, 1)).astype(np.intp))


def _empty(rows: Floats) -> NDArray[np.bool_]:
    return np.asarray(np.einsum("ij,ij->i", rows, rows) < 0.5)


def sketched(rows: NDArray[np.floating], size: int, seed: int) -> Floats:
    """Rows as signed sums of their coordinates, drawn in groups of one size so that there are at most `size` of them.

    Groups are alike, so that noise stays noise of equal strength everywhere.

    >>> few = sketched(np.eye(3, 400, dtype=np.float32), 64, 1)
    >>> few.shape, np.linalg.norm(few, axis=1).tolist(), sketched(np.ones((2, 10)), 64, 1).shape
    ((3, 58), [1.0, 1.0, 1.0], (2, 10))
    """
    values = np.asarray(rows, np.float64)
    if values.shape[1] <= size:
        return values
    order, signs, each = _groups(values.shape[1], size, seed)
    padded = np.zeros((len(values), -(-len(order) // each) * each))
    padded[:, : len(order)] = values[:, order] * signs
    return np.asarray(padded.reshape(len(values), -1, each).sum(axis=2))


@lru_cache(maxsize=8)
def _groups(dim: int, size: int, seed: int) -> tuple[NDArray[np.intp], Floats, int]:
    """The coordinates group after group, their signs in that order, and how many are in each group."""
    dice = seeds.rng(seed, "audit", dim, size)
    return dice.permutation(dim), dice.choice([-1.0, 1.0], dim), -(-dim // size)


def _unit(rows: Floats) -> Floats:
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, np.newaxis]
    return np.asarray(np.divide(rows, length, out=np.zeros_like(rows), where=length > 0))


def _grown(rows: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    grown: NDArray[np.float32] = rows.copy() if rows.shape[1] == size else np.zeros((len(rows), size), np.float32)
    return grown
