"""Partitions and their measures as plain loops."""

import math


def js_distance(p, q):
    def kl(a, b):
        return sum(x * math.log(x / y) for x, y in zip(a, b, strict=True) if x > 0)

    middle = [(x + y) / 2 for x, y in zip(p, q, strict=True)]
    return math.sqrt(max((kl(p, middle) + kl(q, middle)) / 2, 0.0))


def measures(holdings, y, classes):
    """Mean entropy, mean number of absent classes, mean pairwise distance, over clients that hold something; Gini over all."""
    shares = []
    for held in holdings:
        if len(held):
            counts = [sum(1 for i in held if y[i] == c) for c in range(classes)]
            shares.append([count / len(held) for count in counts])
    entropies = [-sum(p * math.log(p) for p in one if p > 0) for one in shares]
    absent = [sum(1 for p in one if p == 0) for one in shares]
    pairs = [js_distance(shares[i], shares[j]) for i in range(len(shares)) for j in range(i)]
    sizes = [len(held) for held in holdings]
    total = sum(sizes)
    gini = sum(abs(a - b) for a in sizes for b in sizes) / (2 * len(sizes) * total)
    return (
        sum(entropies) / len(entropies),
        sum(absent) / len(absent),
        sum(pairs) / len(pairs) if pairs else 0.0,
        gini,
    )


def two_level(cluster, y, pi, phi, clients, dice):
    """Lines 16–22 of Algorithm 10: sample by sample from the products of given shares."""
    holder = []
    for k, c in zip(cluster, y, strict=True):
        weights = [pi[k][j] * phi[k][c][j] for j in range(clients)]
        total = sum(weights)
        holder.append(int(dice.choice(clients, p=[weight / total for weight in weights])))
    return holder


def take_turns(shares, sizes, y, dice):
    """Clients that are not full take turns at random and draw a class by their own shares until they are full."""
    left = {c: [i for i, label in enumerate(y) if label == c] for c in range(len(shares[0]))}
    room = list(sizes)
    holder = [-1] * len(y)
    while any(room):
        client = int(dice.choice([k for k in range(len(room)) if room[k]]))
        weights = [share if left[c] else 0.0 for c, share in enumerate(shares[client])]
        weights = weights if sum(weights) else [1.0 if left[c] else 0.0 for c in left]
        total = sum(weights)
        c = int(dice.choice(len(weights), p=[weight / total for weight in weights]))
        holder[left[c].pop()] = client
        room[client] -= 1
    return holder


def top_up(sizes, least):
    """Sizes after clients in need, in order, received one sample at a time from whoever held most (the first of them)."""
    sizes = list(sizes)
    for client in range(len(sizes)):
        while sizes[client] < least:
            donor = max(range(len(sizes)), key=lambda k: (sizes[k], -k))
            sizes[donor] -= 1
            sizes[client] += 1
    return sizes


def smallest_sizes(q, room):
    """Least-norm sizes by a general solver."""
    import numpy as np
    from scipy.optimize import minimize

    q, room = np.asarray(q), np.asarray(room, dtype=float)
    total = room.sum()
    start = np.full(len(q), 1 / len(q))
    found = minimize(
        lambda x: 0.5 * x @ x,
        start,
        jac=lambda x: x,
        bounds=[(0, None)] * len(q),
        constraints={"type": "eq", "fun": lambda x: q.T @ x - room / total, "jac": lambda x: q.T},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return found.x * total
