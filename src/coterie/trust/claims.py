"""Holds what clients say of themselves against what cannot be said otherwise: the clock, and how far their models moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from coterie.federation import Steps, View
from coterie.plan import Plan
from coterie.replies import Replies
from coterie.trust.past import Floats, Past

FEWEST = 8
"""With fewer clients known, none is compared with the others."""
LOW = 0.35
"""Clients are compared with the third that says least: liars are chosen more often than others, but not all the time."""


@dataclass(frozen=True, eq=False)
class Claims:
    """What the clients of a round said beside what was seen of them, as logarithms of ratios; NaN where nothing is known."""

    clock: Float[np.ndarray, "replies 2"]
    """How long each took, beside what size, speed and bandwidth make expected: in all, and to train."""
    gauge: Floats
    """Its loss, beside how far its model moved in a step."""
    steps: Steps | None
    """What the server asked for, where that is known."""

    @classmethod
    def of(cls, view: View, plan: Plan, replies: Replies) -> Claims:
        """What replies say. Without a server nobody's clock is known, and a quiet plan leaves out counts and losses."""
        steps = getattr(plan.backbone, "steps", None)
        asked = steps if isinstance(steps, Steps) else None
        return cls(_clock(view, plan, replies, asked), _gauge(view, plan, replies, asked), asked)

    def off(self, past: Past, clients: np.ndarray, absolute: bool) -> Floats:
        """How far the clock is off, in the logarithm, beyond what it varies by among clients; the worse of both."""
        worst = np.zeros(len(clients))
        for column in range(self.clock.shape[1]):
            now, known = self.clock[:, column], past.clocks[:, column].copy()
            known[clients] = np.where(np.isnan(now), known[clients], now)
            known = np.sort(known[~np.isnan(known)])
            alone = len(known) < FEWEST
            middle, spread = (0.0, 0.0) if alone else densest(known)
            if absolute and self.steps is not None:
                middle = 0.0
            elif alone:
                continue
            worst = np.fmax(worst, np.maximum(np.abs(now - middle) - 6 * spread, 0))
        return worst

    def louder(self, past: Past, clients: np.ndarray, good: np.ndarray) -> Floats:
        """How far losses are above what models' moves bear out, in the logarithm, beside the modest third of the clients.

        Only replies that are `good` otherwise are a standard: a model that was blown up bears out any loss.
        """
        known = past.gauges.copy()
        known[clients] = np.where(np.isnan(self.gauge) | ~good, known[clients], self.gauge)
        known = known[~np.isnan(known)]
        if len(known) < FEWEST:
            return np.zeros(len(clients))
        return np.nan_to_num(np.maximum(self.gauge - np.quantile(known, LOW), 0))


def densest(ordered: Floats) -> tuple[float, float]:
    """The middle of the shortest stretch that holds half of some ordered numbers, and the standard deviation that it suggests.

    >>> densest(np.array([0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 9.0]))
    (0.0, 0.0)
    """
    half = len(ordered) // 2 + 1
    widths = ordered[half - 1 :] - ordered[: len(ordered) - half + 1]
    first = int(np.argmin(widths))
    return float(ordered[first : first + half].mean()), float(widths[first] / 1.349)


def _clock(view: View, plan: Plan, replies: Replies, steps: Steps | None) -> Float[np.ndarray, "replies 2"]:
    none = np.full((len(replies), 2), np.nan)
    told = {"size", "speed", "bandwidth"} <= set(view.roster.columns)
    if plan.quiet or plan.route == "peers" or not told or not len(replies.seconds):
        return none
    who = replies.clients
    samples = np.maximum(replies.counts, view.roster["size"][who])
    train = _seen(samples, steps) / np.maximum(view.roster["speed"][who], 1e-12)
    cross = 8 * view.models.shape[1] / np.maximum(view.roster["bandwidth"][who], 1e-12)
    if steps is None:
        cross = 0 * cross
    with np.errstate(divide="ignore", invalid="ignore"):
        whole, part = np.log(replies.seconds / (train + cross)), np.log((replies.seconds - cross) / train)
    fair = (train >= 0.5 * cross) & np.isfinite(part)
    return np.stack([np.where(np.isfinite(whole), whole, np.nan), np.where(fair, part, np.nan)], axis=1)


def _gauge(view: View, plan: Plan, replies: Replies, steps: Steps | None) -> Floats:
    losses = [replies.facts[name] for name in ("loss", "loss_before") if name in replies.facts]
    asked = plan.why.column("loss", len(view.roster))[replies.clients]
    if plan.quiet or not losses:
        return np.full(len(replies), np.nan)
    start = plan.start[np.searchsorted(plan.trainers, replies.clients)]
    moved = replies.models - view.models[start]
    far = np.sqrt(np.einsum("ij,ij->i", moved, moved, dtype=np.float64))
    batches = 1.0 if steps is None else np.maximum(_batches(replies.counts, steps), 1)
    rate = 1.0 if steps is None else steps.rate(view.round)
    with np.errstate(divide="ignore", invalid="ignore"):
        gauge = np.log(np.fmax.reduce([*losses, asked])) - np.log(far / (rate * np.sqrt(batches)))
    return np.where(np.isfinite(gauge), gauge, np.nan)


def _batches(samples: np.ndarray, steps: Steps) -> Floats:
    """Steps of clients that hold so many samples."""
    whole = steps.epochs * -(-samples // steps.batch_size)
    return np.asarray(whole if steps.max_steps is None else np.minimum(whole, steps.max_steps), np.float64)


def _seen(samples: np.ndarray, steps: Steps | None) -> Floats:
    """Samples that pass in a training; where nobody knows how often, each once."""
    if steps is None:
        return np.asarray(samples, np.float64)
    every = steps.epochs * samples
    return np.asarray(every if steps.max_steps is None else np.minimum(every, steps.max_steps * steps.batch_size), np.float64)
