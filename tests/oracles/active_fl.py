"""Odds of active federated learning, by walking through all orders in which clients can be drawn."""

from itertools import permutations
from math import exp


def odds_of_sets(values, per_round, alpha1, alpha2, alpha3):
    """The probability of each set of clients, as the definition says it, draw by draw."""
    clients = range(len(values))
    order = sorted(clients, key=lambda k: values[k])
    out = set(order[: int(alpha1 * len(values) + 1e-9)])
    stay = [k for k in clients if k not in out]
    by_value = min(int((1 - alpha3) * per_round + 1e-9), len(stay))
    found = {}
    for first in permutations(stay, by_value):
        chance, left = 1.0, list(stay)
        for k in first:
            chance *= exp(alpha2 * values[k]) / sum(exp(alpha2 * values[j]) for j in left)
            left.remove(k)
        rest = [k for k in clients if k not in first]
        orders = list(permutations(rest, per_round - by_value))
        for then in orders:
            group = frozenset(first + then)
            found[group] = found.get(group, 0.0) + chance / len(orders)
    return found
