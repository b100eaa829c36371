"""FedCor's Gaussian process with N×N matrices throughout, as the paper writes it."""

import numpy as np


def log_likelihood(x, changes, weights, noise):
    total = 0.0
    for change, weight in zip(changes, weights, strict=True):
        seen = ~np.isnan(change)
        sigma = x[seen] @ x[seen].T + noise**2 * np.eye(seen.sum())
        y = change[seen]
        total += weight * -0.5 * (y @ np.linalg.solve(sigma, y) + np.linalg.slogdet(sigma)[1] + len(y) * np.log(2 * np.pi))
    return total


def gradient(x, changes, weights, noise):
    """By the N×N derivative: ∂/∂Σ log N = (Σ⁻¹yyᵀΣ⁻¹ − Σ⁻¹) / 2, and Σ = XXᵀ + ν²I."""
    slope = np.zeros_like(x)
    for change, weight in zip(changes, weights, strict=True):
        seen = ~np.isnan(change)
        inverse = np.linalg.inv(x[seen] @ x[seen].T + noise**2 * np.eye(seen.sum()))
        solved = inverse @ change[seen]
        slope[seen] += weight * (np.outer(solved, solved) - inverse) @ x[seen]
    return slope


def scores(sigma, share, factors, picked, noise):
    """Algorithm 1's criterion for every client, by conditioning the whole N×N prior at once on those picked.

    The predicted change of k is its lower confidence bound, and its worth the fall of the expected loss.
    """
    if picked:
        among = sigma[np.ix_(picked, picked)] + noise**2 * np.eye(len(picked))
        sigma = sigma - sigma[:, picked] @ np.linalg.solve(among, sigma[picked])
    worth = np.zeros(len(sigma))
    for k in set(range(len(sigma))) - set(picked):
        predicted = -factors[k] * np.sqrt(max(sigma[k, k], 0))
        worth[k] = -sum(share[i] * sigma[i, k] / (sigma[k, k] + noise**2) * predicted for i in range(len(sigma)))
    return worth


def pick(sigma, share, factors, candidates, count, noise):
    picked = []
    for _ in range(count):
        worth = scores(sigma, share, factors, picked, noise)
        picked.append(max((k for k in candidates if k not in picked), key=lambda k: worth[k]))
    return picked
