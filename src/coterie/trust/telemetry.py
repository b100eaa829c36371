"""Objective trust: whether a device gives the task as much of its machine as it should.

From readings of a few resources (CPU, RAM, bandwidth) over time slots. Two rules:

- `by_reference`, the default: each reading against what the device should use, known from its reference (earlier similar
  tasks, or a benchmark when it joined), or from its peers. τ_r = mean over slots of min(1, p/LL), τ = mean over resources.
- `printed`: the thesis's Algorithm 1, on the device's own trace alone. A device that is always lazy looks normal to it, since
  the limit follows the device down; it is kept to show that.

Arrays are devices × resources × slots, so that a device's readings of a resource lie side by side; float32 is twice as fast as
float64 and precise enough. NaN is a slot without a reading. A device without any reading is new, and has τ = 1.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Readings = NDArray[np.floating[Any]]
"""Devices × resources × slots; at least 0, or NaN."""

PEERS_SHARE = 0.5
"""A device's limit is never below this share of what its peers use: one that was lazy from the start gains nothing by it."""


def objective_trust(
    usage: ArrayLike,
    rule: Literal["reference", "printed"] = "reference",
    *,
    reference: ArrayLike | None = None,
    advertised: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """τ of each device, in [0, 1], by one of the two rules.

    `reference` holds each device's readings from when it was known to work; `advertised` (devices × resources) what
    each says that it has, in the readings' unit; without it all have the same.

    >>> honest, lazy = np.full((4, 3, 10), 0.7), np.full((1, 3, 10), 0.14)
    >>> objective_trust(np.concatenate([honest, lazy])).round(3).tolist()
    [1.0, 1.0, 1.0, 1.0, 0.2]
    >>> objective_trust(np.concatenate([honest, lazy]), "printed").tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    if rule not in ("reference", "printed"):
        raise ValueError(f"rule: must be 'reference' or 'printed', not {rule!r}")
    if rule == "printed":
        return printed(usage)
    return by_reference(usage, expected_use(usage, reference, advertised))


def by_reference(usage: ArrayLike, limits: ArrayLike) -> NDArray[np.float64]:
    """τ against a limit for each device and resource: how near the readings come to it, none counting for more than 1."""
    readings, low = _checked("usage", usage), np.asarray(limits)
    if low.shape != readings.shape[:2]:
        raise ValueError(f"limits: must be devices × resources, {readings.shape[:2]}, not {low.shape}")
    met = _mean(np.minimum(readings, low.astype(readings.dtype)[..., np.newaxis])).astype(np.float64)
    share = np.divide(met, low, out=np.ones_like(met), where=low > 0)
    return _over_resources(np.where(np.isnan(met), np.nan, np.clip(share, 0, 1)))


def expected_use(
    usage: ArrayLike, reference: ArrayLike | None = None, advertised: ArrayLike | None = None
) -> NDArray[np.float64]:
    """The limit LL for each device and resource.

    Tukey's lower limit of the device's reference, and at least half of what the median device uses of what it advertises.
    Where there is no reference, all of what the median device uses.
    """
    readings = _checked("usage", usage)
    capacity = np.ones(readings.shape[:2]) if advertised is None else np.asarray(advertised, np.float64)
    if capacity.shape != readings.shape[:2] or not (capacity > 0).all():
        raise ValueError(f"advertised: must be numbers above 0, devices × resources, {readings.shape[:2]}")
    peers = capacity * _median_device(_mean(readings) / capacity)
    if reference is None:
        return peers
    history = _checked("reference", reference)
    if history.shape[:2] != readings.shape[:2]:
        raise ValueError(
            f"reference: must be of the same devices and resources as usage, {readings.shape[:2]}, not {history.shape}"
        )
    own = tukey_limit(history).astype(np.float64)
    return np.where(np.isnan(own), peers, np.fmax(own, PEERS_SHARE * peers))


def printed(usage: ArrayLike, epsilon: float = 1e-6) -> NDArray[np.float64]:
    """τ by Algorithm 1 as printed: η_r = mean of the readings below LL over max(LL, ε), averaged over resources with any."""
    readings = _checked("usage", usage)
    limit = tukey_limit(readings)
    below = readings < limit[..., np.newaxis]
    count = below.sum(axis=-1)
    mean = np.where(below, readings, 0).sum(axis=-1) / np.maximum(count, 1)
    return _over_resources(np.where(count > 0, mean / np.maximum(limit, epsilon), np.nan))


def tukey_limit(readings: Readings) -> Readings:
    """LL = Q1 − 1.5·IQR over the slots, quartiles by linear interpolation; NaN where there is no reading."""
    ordered = np.sort(readings, axis=-1)
    first, third = _quantile(ordered, 0.25), _quantile(ordered, 0.75)
    return np.asarray(first - readings.dtype.type(1.5) * (third - first))


def _quantile(ordered: Readings, level: float) -> Readings:
    """Quantiles along the last, sorted axis; NaNs stand last."""
    if not ordered.shape[-1]:
        return np.full(ordered.shape[:-1], np.nan, ordered.dtype)
    if not np.isnan(ordered[..., -1]).any():
        place = (ordered.shape[-1] - 1) * level
        low = ordered[..., int(place)]
        return np.asarray(low + (ordered[..., int(np.ceil(place))] - low) * ordered.dtype.type(place % 1))
    places = np.maximum((~np.isnan(ordered)).sum(axis=-1, keepdims=True) - 1, 0) * level
    low = np.take_along_axis(ordered, np.floor(places).astype(np.intp), axis=-1)
    high = np.take_along_axis(ordered, np.ceil(places).astype(np.intp), axis=-1)
    return np.asarray((low + (high - low) * (places % 1).astype(ordered.dtype))[..., 0])


def _mean(readings: Readings) -> Readings:
    """Mean over the slots that have a reading; NaN where none has."""
    missing = np.isnan(readings)
    if not missing.any() and readings.shape[-1]:
        return np.asarray(readings.mean(axis=-1))
    count = (~missing).sum(axis=-1)
    total = np.where(missing, 0, readings).sum(axis=-1)
    return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan, readings.dtype), where=count > 0))


def _median_device(use: Readings) -> NDArray[np.float64]:
    """For each resource the median over the devices that have readings; 0 where none has."""
    known = [column[~np.isnan(column)] for column in use.T]
    return np.array([np.median(column) if len(column) else 0.0 for column in known])


def _over_resources(share: Readings) -> NDArray[np.float64]:
    """Mean over the resources that say anything, 1 where none does."""
    says = ~np.isnan(share)
    total = np.where(says, share, 0).sum(axis=1)
    return np.where(says.any(axis=1), total / np.maximum(says.sum(axis=1), 1), 1.0).astype(np.float64)


def _checked(name: str, values: ArrayLike) -> Readings:
    readings = np.asarray(values)
    if readings.dtype not in (np.float32, np.float64):
        readings = readings.astype(np.float64)
    if readings.ndim != 3:
        raise ValueError(f"{name}: must be devices × resources × slots, not an array of {readings.ndim} axes")
    if (readings < 0).any() or np.isinf(readings).any():
        raise ValueError(f"{name}: readings must be numbers from 0, or NaN where there is none")
    return readings
