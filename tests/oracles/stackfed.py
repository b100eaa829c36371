"""StackFed by hand: one pair, one class, one group at a time."""

from itertools import combinations
from math import log, prod

from coterie.coalitions.stackelberg import equilibrium


def score(counts, population, weights=(1.0, 1.0, 1.0)):
    classes = {c for row in population for c, held in enumerate(row) if held > 0}
    total = sum(map(sum, population))
    own = sum(counts)
    shares = [held / own for held in counts if held > 0]
    coverage = len(shares) / len(classes) if classes else 0.0
    return coverage * (own / total if total else 0.0) * -sum(p * log(p) for p in shares) * prod(weights)


def pooled(*rows):
    return [sum(column) for column in zip(*rows, strict=True)]


def shortlist(leader, followers, population, length):
    """(follower, leader's gain, follower's gain, payment) of the followers that add most to a leader."""
    gains = []
    for follower, counts in enumerate(followers):
        together = score(pooled(leader, counts), population)
        gains.append((follower, together - score(leader, population), together - score(counts, population)))
    first = sorted(gains, key=lambda pair: (-round(pair[1], 12), pair[0]))[:length]
    paid = equilibrium([pair[2] for pair in first])
    return [(*pair, float(payment)) for pair, payment in zip(first, paid, strict=True)]


def utility(group, gains, payments):
    return sum(gains[f] * payments[f] for f in group)


def best(gains, payments, quota):
    return max(utility(group, gains, payments) for group in combinations(range(len(gains)), min(quota, len(gains))))
