"""What is done to a number before it leaves a client: Laplace noise, from a vetted library or, in simulations, from NumPy.

A number in [a, b] with noise of scale (b − a)/ε is ε-private, whatever number it is (Dwork, McSherry, Nissim and Smith, 2006).
That holds for real numbers. Textbook samplers work on floating-point ones, whose last bits give away what was added
(Mironov, 2012): only certain outputs are possible from a given input. OpenDP samples on a grid, exactly, so the promise
holds for the bits that leave.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float

from coterie.report import Report

Numbers = Float[np.ndarray, "*clients numbers"]


def release(report: Report, truth: Numbers, rng: np.random.Generator) -> Numbers:
    """What leaves clients of their true numbers. `rng` are dice that only the client throws; vetted noise has its own.

    >>> from coterie.report import Bounded
    >>> release(Report((Bounded("size", most=100),)), np.array([[30.0], [400.0]]), np.random.default_rng(0)).tolist()
    [[30.0], [100.0]]
    """
    bounded, scales = report.bounded(truth), np.array([one.scale for one in report.numbers])
    return vetted(bounded, scales) if report.noise == "vetted" else simple(bounded, scales, rng)


def simple(values: Numbers, scales: Float[np.ndarray, " numbers"], rng: np.random.Generator) -> Numbers:
    """Laplace noise as the textbook draws it, in floating point. For simulations: the last bits are not safe."""
    return np.asarray(values + rng.laplace(size=values.shape) * scales)


def vetted(values: Numbers, scales: Float[np.ndarray, " numbers"]) -> Numbers:
    """Laplace noise by OpenDP, safe in floating point."""
    noised = [_column(values[..., i].ravel().tolist(), float(scale)) for i, scale in enumerate(scales)]
    return np.stack([np.reshape(column, values.shape[:-1]) for column in noised], axis=-1)


def _column(values: list[float], scale: float) -> list[float]:
    return values if scale == 0 else [float(_laplace(scale)(value)) for value in values]


@cache
def _laplace(scale: float) -> Any:
    """OpenDP's mechanism, once its own privacy map has agreed to what we promise of it."""
    try:
        import opendp.prelude as dp
    except ImportError:
        raise ValueError("noise: 'vetted' needs OpenDP; install it with `pip install coterie[privacy]`") from None
    dp.enable_features("contrib")
    made = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=scale)
    if not made.check(d_in=1.0, d_out=1.0 / scale * (1 + 1e-9)):
        raise RuntimeError(f"OpenDP does not agree that noise of scale {scale} is {1 / scale}-private for numbers 1 apart")
    return made
