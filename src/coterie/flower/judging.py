"""Judges the models of a federation over Flower, on samples that the server holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from coterie.federation import Scores
from coterie.simulation.evaluation import verdict
from coterie.simulation.models import Model, path_for

if TYPE_CHECKING:
    from coterie.flower.federation import FlowerFederation, Judge


def on_test(model: Model, x: ArrayLike, y: ArrayLike, *, classes: int) -> Judge:
    """A judge that knows a test set: the mean over clients of how the model that each follows does on it.

    Args:
        model: As for the federation.
        x: Samples, the first axis running over them.
        y: Labels from 0, or targets of a regression.
        classes: How many classes there are; 0 for a regression.
    """
    samples = np.asarray(x, np.float32), np.asarray(y, np.int64 if classes else np.float32)
    path = path_for(model, samples[0].shape[1:], classes, targets=1 if samples[1].ndim == 1 else samples[1].shape[1])

    def judge(federation: FlowerFederation) -> Scores:
        rows, followers = np.unique(federation.follows, return_counts=True)
        share = followers / followers.sum()
        told = [verdict(path, federation.models[row], samples, usual=True) for row in rows]
        right, loss = (np.array([float(getattr(one, name).mean()) for one in told]) for name in ("right", "loss"))
        return Scores(accuracy=float(share @ right), loss=float(share @ loss))

    return judge
