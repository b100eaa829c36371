"""The audit of claims, one client at a time."""

from math import ceil, log, sqrt


def expected_seconds(samples, speed, bandwidth, dim, epochs):
    return epochs * samples / speed, 2 * 4 * dim / bandwidth


def clock(seconds, samples, speed, bandwidth, dim, epochs):
    train, cross = expected_seconds(samples, speed, bandwidth, dim, epochs)
    part = log((seconds - cross) / train) if train >= 0.5 * cross and seconds > cross else None
    return log(seconds / (train + cross)), part


def gauge(loss, before, after, samples, epochs, batch_size, lr):
    length = sqrt(sum((float(b) - float(a)) ** 2 for a, b in zip(before, after, strict=True)))
    return log(loss) - log(length / (lr * sqrt(epochs * ceil(samples / batch_size))))


def densest(numbers):
    """The shortest stretch with more than half of the numbers, by trying all."""
    ordered, half = sorted(numbers), len(numbers) // 2 + 1
    stretches = [ordered[i : i + half] for i in range(len(ordered) - half + 1)]
    best = min(stretches, key=lambda some: some[-1] - some[0])
    return sum(best) / half, (best[-1] - best[0]) / 1.349
