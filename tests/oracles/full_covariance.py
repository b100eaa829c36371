"""FedCVR-Bolt's covariance with its D matrices of K × K written out, and its deviations in loops."""

import numpy as np


def cosine(x, y):
    length = np.linalg.norm(x) * np.linalg.norm(y)
    return x @ y / length if length else 0.0


def deviations(before, after, labels, observed):
    """u_k = θ_k − ρ_kj θ_j with j the observed client most like k among those of its coalition, or of all if it has none."""
    rows = []
    for k in range(len(before)):
        if k in observed:
            rows.append(np.zeros(before.shape[1]))
            continue
        own = [j for j in observed if labels[j] == labels[k]] or list(observed)
        likeness = [cosine(before[k], before[j]) for j in own]
        best = int(np.argmax(likeness))
        rows.append(after[k] - likeness[best] * after[own[best]])
    return np.array(rows)


def step(c, u, t):
    """Eq. 11: c[d] is the K × K covariance of coordinate d."""
    return np.stack([(1 - 1 / t) * c[d] + (1 / t) * np.outer(u[:, d], u[:, d]) for d in range(len(c))])


def scores(c, share):
    """Eq. 5 and 6."""
    v = np.zeros(len(share))
    for k in range(len(share)):
        for matrix in c:
            if matrix[k, k] > 0:
                v[k] += (matrix @ share)[k] ** 2 / matrix[k, k]
    return v


def random_walk_span(points, groups, gamma):
    """The span of the top eigenvectors of Eq. 4's row-normalized matrix over all points, coinciding ones included."""
    w = np.exp(-gamma * ((points[:, np.newaxis] - points) ** 2).sum(axis=2))
    values, vectors = np.linalg.eig(w / w.sum(axis=1, keepdims=True))
    top = np.argsort(-values.real)[:groups]
    basis, _ = np.linalg.qr(vectors[:, top].real)
    return basis @ basis.T
