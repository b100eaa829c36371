"""Pictures for the page: small SVGs made of numbers, with the numbers in words for those who cannot see them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from markupsafe import Markup, escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 230, 58, 14, 14, 32

Points = Sequence[tuple[float, float]]


def line(
    points: Points, *, what: str, x_label: Callable[[float], str], y_label: Callable[[float], str], top: float | None = None
) -> Markup:
    """A line through points, with a dot at each where there are few."""
    if not points:
        return Markup("")
    xs, ys = [x for x, _ in points], [y for _, y in points]
    low, high = min(xs), max(xs)
    ceiling = top if top is not None else _round_up(max(ys))
    across, up = (WIDTH - LEFT - RIGHT) / ((high - low) or 1), (HEIGHT - TOP - BOTTOM) / (ceiling or 1)
    placed = [
        (LEFT + (x - low) * across if high > low else (LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM - y * up) for x, y in points
    ]
    grid = "".join(
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
        f'<text class="y" x="{LEFT - 8}" y="{at + 4:.1f}">{escape(y_label(share * ceiling))}</text>'
        for share in (0.0, 0.5, 1.0)
        for at in [HEIGHT - BOTTOM - share * ceiling * up]
    )
    ends = "".join(
        f'<text class="{anchor}" x="{x:.1f}" y="{HEIGHT - 6}">{escape(x_label(value))}</text>'
        for x, value, anchor in ([(placed[0][0], low, "from")] + ([(placed[-1][0], high, "to")] if high > low else []))
    )
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in placed) if len(placed) <= 60 else ""
    words = f"{what}: from {y_label(ys[0])} at {x_label(xs[0])} to {y_label(ys[-1])} at {x_label(xs[-1])}"
    return Markup(
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(words)}">'
        f'{grid}{ends}<polyline points="{path}"/>{dots}</svg>'
    )


def training(rounds: Sequence[tuple[int, float]]) -> Markup:
    """Accuracy by round."""
    return line(
        rounds,
        what="accuracy on the global test set",
        x_label=lambda x: f"round {x:.0f}",
        y_label=lambda y: f"{y:.0%}",
        top=1.0,
    )


def reputation(course: Points) -> Markup:
    """A reputation over time."""
    return line(course, what="reputation", x_label=moment, y_label=lambda y: f"{y:.2f}")


def moment(at: float) -> str:
    """A time for people, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(at))


def _round_up(value: float) -> float:
    for step in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0):
        if value <= step:
            return step
    return value
