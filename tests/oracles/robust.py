"""Robust averages, number by number."""


def median(models):
    """Coordinate by coordinate."""
    made = []
    for values in zip(*models, strict=True):
        ranked, half = sorted(values), len(values) // 2
        made.append(ranked[half] if len(values) % 2 else (ranked[half - 1] + ranked[half]) / 2)
    return made


def trimmed_mean(models, beta):
    """Coordinate by coordinate, without the ⌊βn⌋ at each end."""
    made = []
    for values in zip(*models, strict=True):
        cut = int(beta * len(values) + 1e-9)
        middle = sorted(values)[cut : len(values) - cut]
        made.append(sum(middle) / len(middle))
    return made


def krum(models, broken, keep):
    """Whose models are kept."""
    count, f = len(models), int(broken * len(models) + 1e-9)
    scores = []
    for i in range(count):
        far = sorted(sum((a - b) ** 2 for a, b in zip(models[i], models[j], strict=True)) for j in range(count) if j != i)
        scores.append(sum(far[: max(count - f - 2, 1)]))
    return sorted(sorted(range(count), key=lambda i: scores[i])[: min(keep, count - f)])
