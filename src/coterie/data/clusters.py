"""Groups of samples that look alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie import seeds
from coterie.data.features import Features

SAMPLE = 100_000
"""Samples that k-means is fitted to; the others join the nearest center. Mini-batches took ten times as long."""


def clusters_of(rows: Features, count: int, dice: np.random.Generator, clusterer: Any = None) -> NDArray[np.intp]:
    """The cluster of each sample, counted from 0.

    `clusterer` is any estimator of scikit-learn that has `fit_predict`, a function from features to labels, or None
    for k-means with `count` clusters: the best of three starts, fitted to `SAMPLE` samples at most. An estimator's
    seed is filled in if it has none; noise (label −1) is a cluster of its own.
    """
    from threadpoolctl import threadpool_limits

    if count > len(rows):
        raise ValueError(f"clusters: {count} cannot be made of {len(rows)} samples")
    seed = int(dice.integers(2**31))
    with threadpool_limits(1):
        labels = _labels(rows, count, seed, clusterer)
    try:
        labels = np.asarray(labels)
        numbers = np.unique(labels, return_inverse=True)[1]
    except (TypeError, ValueError) as error:
        raise ValueError(f"clusterer: gave no labels ({error})") from None
    if labels.shape != (len(rows),):
        raise ValueError(f"clusterer: must give one label for each of the {len(rows)} samples, not {labels.shape}")
    return np.asarray(numbers, dtype=np.intp)


def _labels(rows: Features, count: int, seed: int, clusterer: Any) -> Any:
    if clusterer is None:
        return _k_means(rows, count, seed)
    if hasattr(clusterer, "fit_predict"):
        from sklearn.base import clone

        estimator = clone(clusterer)
        if "random_state" in (settings := estimator.get_params()) and settings["random_state"] is None:
            estimator.set_params(random_state=seed)
        return estimator.fit_predict(rows)
    if callable(clusterer):
        return clusterer(rows)
    raise ValueError(f"clusterer: must have fit_predict or be a function from features to labels, not {clusterer!r}")


def _k_means(rows: Features, count: int, seed: int) -> Any:
    from sklearn.cluster import KMeans

    some = rows
    if len(rows) > SAMPLE:
        some = rows[seeds.rng(seed, "clusters").choice(len(rows), SAMPLE, replace=False)]
    return KMeans(count, n_init=3, random_state=seed).fit(some).predict(rows)
