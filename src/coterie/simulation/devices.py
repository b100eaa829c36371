"""What the clients' devices are, how fast, and so when their replies arrive."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from coterie.simulation import dice

MEDIAN_RAM, MEDIAN_LATENCY = 4.0, 0.05


@dataclass(frozen=True, eq=False)
class Devices:
    """Each client's device."""

    speed: Float[np.ndarray, " clients"]
    """Samples trained on in a second."""
    bandwidth: Float[np.ndarray, " clients"]
    """Bytes in a second, either way."""
    ram: Float[np.ndarray, " clients"]
    """Gigabytes of memory. Only rules that ask for strong devices look at it; training never runs out of it."""
    latency: Float[np.ndarray, " clients"]
    """Seconds until a message begins to arrive. Known of a device, and not part of a reply's time, which is far longer."""

    @classmethod
    def plain(cls, speed: Float[np.ndarray, " clients"], bandwidth: Float[np.ndarray, " clients"]) -> Devices:
        """Devices of which nothing else is known: as much memory and latency everywhere."""
        return cls(speed, bandwidth, np.full(len(speed), MEDIAN_RAM), np.full(len(speed), MEDIAN_LATENCY))

    @property
    def columns(self) -> dict[str, NDArray[np.float64]]:
        """What everybody knows of the devices; `cpu` is a device's speed in those of the median device's kind."""
        cpu = self.speed / max(float(np.median(self.speed)), 1e-12) if len(self.speed) else self.speed
        known = {"speed": self.speed, "bandwidth": self.bandwidth, "cpu": cpu, "ram": self.ram, "latency": self.latency}
        return {name: np.asarray(values, np.float64) for name, values in known.items()}

    def seconds(
        self, clients: NDArray[np.intp], trained: NDArray[np.int64] | NDArray[np.float64], crossed: NDArray[np.int64]
    ) -> Float[np.ndarray, " asked"]:
        """How long clients take to train on so many samples and to receive and send so many bytes."""
        return np.asarray(trained / self.speed[clients] + crossed / self.bandwidth[clients])


def log_normal(seed: int, clients: int, speed: float, bandwidth: float, spreads: tuple[float, float]) -> Devices:
    """Medians, times e to the normal dice whose standard deviations are `spreads`."""
    thrown = np.exp(dice.world(seed, "devices").standard_normal((clients, 2)) * spreads)
    rest = np.exp(dice.world(seed, "memory and latency").standard_normal((clients, 2)) * spreads)
    return Devices(speed * thrown[:, 0], bandwidth * thrown[:, 1], MEDIAN_RAM * rest[:, 0], MEDIAN_LATENCY * rest[:, 1])


def tiers(devices: Devices, seed: int, share: float, strength: float) -> Devices:
    """A share of the devices, drawn, is `strength` times as fast, as well connected and as large as it was.

    >>> made = tiers(log_normal(1, 10, 100.0, 1e5, (0.0, 0.0)), 1, 0.2, 4.0)
    >>> np.sort(made.speed).tolist()[-3:], np.sort(made.ram).tolist()[-3:]
    ([100.0, 400.0, 400.0], [4.0, 16.0, 16.0])
    """
    count = len(devices.speed)
    strong = dice.world(seed, "tiers").permutation(count) < round(share * count)
    by = np.where(strong, strength, 1.0)
    return Devices(devices.speed * by, devices.bandwidth * by, devices.ram * by, devices.latency / by)


def by_size(devices: Devices, sizes: NDArray[np.int64], coupling: float) -> Devices:
    """Couples speed to data: the device of a client with twice the mean of samples is 2^coupling times as fast."""
    mean = max(float(sizes.mean()), 1.0)
    return replace(devices, speed=devices.speed * np.maximum(sizes / mean, 1 / mean) ** coupling)


def from_table(seed: int, clients: int, table: NDArray[np.float64]) -> Devices:
    """Each client's device is a line of a table of speeds and bandwidths: line k where there are as many, else one drawn."""
    lines = np.arange(clients) if len(table) == clients else dice.world(seed, "devices").integers(len(table), size=clients)
    return Devices.plain(table[lines, 0], table[lines, 1])


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
