"""The audit's comparisons, one client and one candidate at a time, without sketches."""

from math import sqrt

import numpy as np
from scipy.stats import beta


def cosine(a, b):
    length = sqrt(float(a @ a)) * sqrt(float(b @ b))
    return float(a @ b) / length if length > 0 else 0.0


def explained(target, directions):
    """The part of the square of a vector that lies in the span of some directions."""
    directions = [v for v in directions if v @ v > 0]
    if not directions or not target @ target > 0:
        return 0.0
    basis = np.stack([v / np.sqrt(v @ v) for v in directions], axis=1)
    fitted = basis @ np.linalg.lstsq(basis, target, rcond=None)[0]
    return float(fitted @ fitted / (target @ target))


def nearest(updates, others, steps, own, arrival):
    """For each update: the part explained by the single nearest candidate, and the chance of noise to have as much left over.

    `own` holds, for each update, what its client could send again.
    """
    found = []
    for i, update in enumerate(updates):
        rest = [v for j, v in enumerate(updates) if j != i] + list(others) + list(steps)
        candidates = [v for j, v in enumerate(updates) if j != i and arrival[j] <= arrival[i]]
        candidates += [*others, *steps, *own[i]]
        best = max(candidates, key=lambda v: abs(cosine(update, v)), default=np.zeros(len(update)))
        part = cosine(update, best) ** 2
        left = update - best * (update @ best) / (best @ best) if best @ best > 0 else update
        directions = [v for v in [*rest, *own[i]] if v @ v > 0]
        without = [v - best * (v @ best) / (best @ best) for v in directions] if best @ best > 0 else directions
        without = [v for v in without if v @ v > 1e-12]
        k, d = len(directions) - bool(best @ best > 0), len(update) - 1
        chance = float(beta.sf(explained(left, without), k / 2, (d - k) / 2))
        found.append((part, chance))
    return found


def leaning(update, others):
    cosines = [cosine(update, v) for v in others]
    return sum(c * abs(c) for c in cosines) / sum(c * c for c in cosines)


def foolsgold(histories, confidence=1.0):
    """FoolsGold's weights by loops, as its pseudocode has them."""
    n = len(histories)
    cs = [[cosine(histories[i], histories[j]) if i != j else 0.0 for j in range(n)] for i in range(n)]
    most = [max(row) for row in cs]
    for i in range(n):
        for j in range(n):
            if i != j and most[i] < most[j] and most[j] > 0:
                cs[i][j] *= most[i] / most[j]
    weights = [min(max(1 - max(row), 0.0), 1.0) for row in cs]
    if max(weights) > 0:
        weights = [w / max(weights) for w in weights]
    weights = [0.99 if w == 1.0 or w > 0.99 else w for w in weights]
    return [min(max(confidence * (np.log(w / (1 - w)) + 0.5), 0.0), 1.0) if w > 0 else 0.0 for w in weights]
