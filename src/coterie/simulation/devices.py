"""How fast the clients' devices are, and so when their replies arrive."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from coterie.simulation import dice


@dataclass(frozen=True, eq=False)
class Devices:
    """Each client's device."""

    speed: Float[np.ndarray, " clients"]
    """Samples trained on in a second."""
    bandwidth: Float[np.ndarray, " clients"]
    """Bytes in a second, either way."""

    def seconds(
        self, clients: NDArray[np.intp], trained: NDArray[np.int64] | NDArray[np.float64], crossed: NDArray[np.int64]
    ) -> Float[np.ndarray, " asked"]:
        """How long clients take to train on so many samples and to receive and send so many bytes."""
        return np.asarray(trained / self.speed[clients] + crossed / self.bandwidth[clients])


def log_normal(seed: int, clients: int, speed: float, bandwidth: float, spreads: tuple[float, float]) -> Devices:
    """Medians, times e to the normal dice whose standard deviations are `spreads`."""
    thrown = np.exp(dice.world(seed, "devices").standard_normal((clients, 2)) * spreads)
    return Devices(speed * thrown[:, 0], bandwidth * thrown[:, 1])


def by_size(devices: Devices, sizes: NDArray[np.int64], coupling: float) -> Devices:
    """Couples speed to data: the device of a client with twice the mean of samples is 2^coupling times as fast."""
    mean = max(float(sizes.mean()), 1.0)
    return Devices(devices.speed * np.maximum(sizes / mean, 1 / mean) ** coupling, devices.bandwidth)


def from_table(seed: int, clients: int, table: NDArray[np.float64]) -> Devices:
    """Each client's device is a line of a table of speeds and bandwidths: line k where there are as many, else one drawn."""
    lines = np.arange(clients) if len(table) == clients else dice.world(seed, "devices").integers(len(table), size=clients)
    return Devices(table[lines, 0], table[lines, 1])


def read_table(path: str) -> NDArray[np.float64]:
    """Reads a CSV file with columns speed,bandwidth."""
    if not Path(path).is_file():
        raise ValueError(f"table: there is no file {path}")
    try:
        with Path(path).open(newline="") as lines:
            table = np.array([(float(line["speed"]), float(line["bandwidth"])) for line in csv.DictReader(lines)])
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise ValueError(f"{path}: a table of devices has columns speed and bandwidth, all numbers ({error})") from None
    if not len(table) or not (np.isfinite(table) & (table > 0)).all():
        raise ValueError(f"{path}: speeds and bandwidths must be above 0, and there must be one line at least")
    return table
