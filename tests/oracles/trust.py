"""Objective and subjective trust one value at a time."""

from math import ceil, floor, isnan
from statistics import mean, median

Trace = list[float]


def quartile(trace: Trace, level: float) -> float:
    ordered = sorted(trace)
    place = (len(ordered) - 1) * level
    low, high = ordered[floor(place)], ordered[ceil(place)]
    return low + (high - low) * (place % 1)


def lower_limit(trace: Trace) -> float:
    first, third = quartile(trace, 0.25), quartile(trace, 0.75)
    return first - 1.5 * (third - first)


def known(trace: Trace) -> Trace:
    return [value for value in trace if not isnan(value)]


def printed(device: list[Trace], epsilon: float = 1e-6) -> float:
    total, touched = 0.0, 0
    for trace in map(known, device):
        if not trace:
            continue
        limit = lower_limit(trace)
        low = [value for value in trace if value < limit]
        if low:
            total += mean(low) / max(limit, epsilon)
            touched += 1
    return total / touched if touched else 1.0


def by_reference(usage: list[list[Trace]], reference: list[list[Trace]] | None, advertised: list[list[float]]) -> list[float]:
    resources = range(len(advertised[0]))
    peers = [
        median([mean(known(device[r])) / advertised[i][r] for i, device in enumerate(usage) if known(device[r])] or [0.0])
        for r in resources
    ]
    scores = []
    for i, device in enumerate(usage):
        shares = []
        for r in resources:
            trace, limit = known(device[r]), peers[r] * advertised[i][r]
            if reference is not None and known(reference[i][r]):
                limit = max(lower_limit(known(reference[i][r])), limit / 2)
            if trace:
                shares.append(mean([min(1.0, value / limit) if limit > 0 else 1.0 for value in trace]))
        scores.append(mean(shares) if shares else 1.0)
    return scores


def overall(objective: list[float], words: list[list[float]], how: str) -> list[float]:
    middle = mean if how == "mean" else median
    return [(own + middle(said)) / 2 if said else own for own, said in zip(objective, words, strict=True)]
