"""DivFL's and Fed-CBS's measures, one client at a time."""

import numpy as np


def far_from(chosen, gradients, everybody):
    """G(S) = Σ_k min_{i∈S} ‖g_k − g_i‖."""
    return sum(min(np.linalg.norm(gradients[k] - gradients[i]) for i in chosen) for k in everybody)


def representatives(gradients, everybody, candidates, count):
    chosen = []
    for _ in range(min(count, len(candidates))):
        chosen.append(
            min((i for i in candidates if i not in chosen), key=lambda i: far_from([*chosen, i], gradients, everybody))
        )
    return chosen


def qcid(group, counts):
    """The published form: Σ_ij q_i q_j a_i·a_j / (Σ q)² − 1/B, with a_i the label shares of client i."""
    q = [counts[i].sum() for i in group]
    a = [counts[i] / counts[i].sum() for i in group]
    total = sum(q[i] * q[j] * (a[i] @ a[j]) for i in range(len(group)) for j in range(len(group)))
    return total / sum(q) ** 2 - 1 / counts.shape[1]
