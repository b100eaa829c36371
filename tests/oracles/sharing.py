"""Sharing of models, one pair at a time."""

import numpy as np


def coarse(own, others, threshold):
    """The best share of one's own model among so many samples (own counted), searched for."""
    sizes = np.array([own, *others], float)
    total, squares = sizes.sum(), (sizes**2).sum()
    apart = 1 + squares / total**2 - 2 * own / total
    shares = np.linspace(0, 1, 200_001)
    errors = threshold * (shares**2 / own + (1 - shares**2) / total) + (1 - shares) ** 2 * apart
    return shares[errors.argmin()]


def fine(changes, power=1.0, sizes=None):
    """Weights by the cosine of updates, by loops."""
    count = len(changes)
    weights = np.zeros((count, count))
    for j in range(count):
        for k in range(count):
            lengths = np.linalg.norm(changes[j]) * np.linalg.norm(changes[k])
            cosine = 1.0 if j == k else float(changes[j] @ changes[k] / lengths) if lengths else 0.0
            weights[j, k] = (1 + cosine) ** power * (1 if sizes is None else sizes[k])
        weights[j] /= weights[j].sum()
    return weights
