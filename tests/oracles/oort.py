"""Oort's formulas, client by client."""

from math import log, sqrt


def scores(t, utility, last, seconds, limit, clip, penalty):
    """The score of each explored client."""
    ranked = sorted(utility)
    cap, low, high = ranked[min(int(len(ranked) * clip), len(ranked) - 1)], ranked[0] * 0.999, ranked[-1]
    found = []
    for u, seen, took in zip(utility, last, seconds, strict=True):
        score = (min(u, cap) - low) / max(high - low, 1e-4) + sqrt(0.1 * log(t) / seen)
        if took > limit:
            score *= (limit / max(took, 1e-4)) ** penalty
        found.append(score)
    return found


def exploitable(scores, count, cutoff):
    """Who is in the draw when so many are exploited."""
    edge = cutoff * sorted(scores, reverse=True)[min(count, len(scores) - 1)]
    return [k for k, score in enumerate(scores) if score >= edge]
