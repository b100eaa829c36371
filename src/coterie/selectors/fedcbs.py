"""A group whose labels together are balanced: Fed-CBS (Zhang et al., ICML 2023)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from coterie.federation import View
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.roster import Ids, Roster
from coterie.rules import Selector
from coterie.selectors.draw import draw, draw_exp


@dataclass(frozen=True, eq=False)
class Labels:
    """How many samples of each class clients hold, and how often each was chosen."""

    counts: NDArray[np.int64]
    """Clients × classes; no classes before the first answers."""
    known: NDArray[np.bool_]
    picks: NDArray[np.int64]
    """T_k, from 1 on."""


@dataclass(frozen=True)
class FedCBS(Selector):
    """Trains a group whose samples, taken together, hold all classes about equally often (Zhang et al., 2023).

    A group's class imbalance is QCID(M) = ‖its mixed label shares − uniform‖². Clients are drawn one after the other: the
    first with weight 1/QCID^b₁ + λ √(3 ln t / 2T_k), where T_k counts how often k was chosen; the m-th with weight
    1/QCID(M + k)^b_m, with b growing from `power` to `last_power`. Of several such groups the most balanced one trains.

    The server learns how many samples of each class every client holds, exactly.

    Where the source is silent, and where we differ: histograms are asked for at the end of the first round, which is
    random, and of clients that were absent then, when they come; QCID is kept above `floor`. The public code keeps its
    powers above 0.001 instead, which makes the late draws uniform, and takes the first client with the highest weight.
    """

    per_round: int
    """How many train in a round."""
    exploration: float = 1.0
    """λ, how much a client that was seldom chosen is preferred at the first draw."""
    power: float = 1.0
    """b₁, the power at the first draw."""
    last_power: float = 10.0
    """The power at the last draw."""
    tries: int = 1
    """Groups drawn, of which the most balanced one trains; the public code draws at least six."""
    floor: float = 1e-3
    """The least imbalance that is told from none."""

    needs = frozenset({"labels"})

    def __post_init__(self) -> None:
        for name, allowed, good in [
            ("per_round", "a whole number from 1", self.per_round >= 1),
            ("exploration", "a number from 0", 0 <= self.exploration < np.inf),
            ("power", "a number from 0", 0 <= self.power < np.inf),
            ("last_power", "a number from `power`", self.power <= self.last_power < np.inf),
            ("tries", "a whole number from 1", self.tries >= 1),
            ("floor", "a number above 0", 0 < self.floor < np.inf),
        ]:
            if not good:
                raise ValueError(f"{name}: must be {allowed}, not {getattr(self, name)!r}")

    def begin(self, roster: Roster) -> Labels:
        n = len(roster)
        return Labels(np.empty((n, 0), np.int64), np.zeros(n, bool), np.ones(n, np.int64))

    def choose(self, view: View, state: Labels) -> Ids:
        candidates = view.present[(state.counts[view.present] > 0).any(axis=1)]
        counts = state.counts[candidates]
        alone = imbalance(counts)
        view.note(candidates, imbalance=alone, picks=state.picks[candidates])
        bonus = self.exploration * np.sqrt(3 * np.log(view.round) / (2 * state.picks[candidates]))
        groups = [self._group(view.rng, counts, alone, bonus) for _ in range(self.tries)]
        best = min(groups, key=lambda group: float(imbalance(counts[group].sum(axis=0))))
        chosen = candidates[best]
        rest = draw(view.rng, np.setdiff1d(view.present, chosen), self.per_round - len(chosen))
        return np.sort(np.concatenate([chosen, rest]))

    def learn(self, view: View, plan: Plan, replies: Replies, state: Labels) -> Labels:
        picks = state.picks.copy()
        picks[plan.trainers] += 1
        unknown = view.present[~state.known[view.present]]
        if not len(unknown):
            return replace(state, picks=picks)
        told = view.ask.label_counts(unknown)
        counts = state.counts.copy() if state.counts.shape[1] else np.zeros((len(picks), told.shape[1]), np.int64)
        known = state.known.copy()
        counts[unknown], known[unknown] = told, True
        return Labels(counts, known, picks)

    def _group(
        self,
        rng: np.random.Generator,
        counts: NDArray[np.int64],
        alone: Float[np.ndarray, " candidates"],
        bonus: Float[np.ndarray, " candidates"],
    ) -> NDArray[np.intp]:
        """Draws one group, as positions among the candidates."""
        left = np.arange(len(counts))
        group: list[int] = []
        for power in np.linspace(self.power, self.last_power, self.per_round)[: len(counts)]:
            if not group:
                logits = np.log(np.maximum(alone, self.floor) ** -power + bonus)
            else:
                mixed = imbalance(counts[group].sum(axis=0) + counts[left])
                logits = -power * np.log(np.maximum(mixed, self.floor))
            group.append(int(draw_exp(rng, left, 1, logits)[0]))
            left = left[left != group[-1]]
        return np.array(group, dtype=np.intp)


def imbalance(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """QCID: the squared distance between the shares of labels and equal shares, along the last axis.

    >>> imbalance(np.array([[5, 5], [10, 0]])).tolist()
    [0.0, 0.5]
    """
    classes = counts.shape[-1]
    shares = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    return np.asarray(((shares - 1 / max(classes, 1)) ** 2).sum(axis=-1))
