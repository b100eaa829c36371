"""Every scheme of `coterie.data` as a partitioner of Flower Datasets, for its `FederatedDataset` and its plots.

from flwr_datasets import FederatedDataset
from coterie.flower.partitioner import TwoLevelPartitioner

parts = TwoLevelPartitioner(100, partition_by="label", clusters=10, alpha=0.5, beta=0.1)
federated = FederatedDataset(dataset="ylecun/mnist", partitioners={"train": parts})
federated.load_partition(0)
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from coterie import data
from coterie.data import Dataset, Partition, Scheme
from coterie.data.sources.hugging_face import SAMPLES, sample
from coterie.data.sources.scaled import scaled

try:
    from flwr_datasets.partitioner import Partitioner
except ImportError as error:
    raise ImportError("coterie.flower.partitioner needs flwr-datasets: pip install 'coterie[flower]'") from error


class SchemePartitioner(Partitioner):  # type: ignore[misc]
    """A scheme that parts a table of Hugging Face.

    Args:
        num_partitions: How many clients.
        partition_by: The column with labels; any values, numbered in their order.
        samples: The column with samples, where the scheme looks at them (two-level); found by its name if None.
        owners: The column that says whose a sample is, for the natural scheme.
        seed: The same seed gives the same partition as the scheme's own `split` on the same samples in the same order.
        settings: The scheme's own, such as `alpha`.
    """

    scheme: ClassVar[type[Scheme]]

    def __init__(
        self,
        num_partitions: int,
        partition_by: str = "label",
        *,
        samples: str | None = None,
        owners: str | None = None,
        seed: int = 42,
        **settings: Any,
    ) -> None:
        super().__init__()
        self._clients, self._seed = num_partitions, seed
        self._columns = (partition_by, samples, owners)
        self._scheme = self.scheme(**settings)

    @property
    def num_partitions(self) -> int:
        """How many clients."""
        return self._clients

    def load_partition(self, partition_id: int) -> Any:
        """What one client holds, as a table."""
        return self.dataset.select(self.partition[partition_id])

    @cached_property
    def partition(self) -> Partition:
        """The partition, made when it is first needed; `save` writes it to a file."""
        return self._scheme.split(self._arrays(), self._clients, self._seed)

    def _arrays(self) -> Dataset:
        label, samples, owners = self._columns
        y = np.unique(self._column(label), return_inverse=True)[1]
        x = self._samples(samples) if isinstance(self._scheme, data.TwoLevel) else np.zeros((len(y), 1), dtype=np.float32)
        numbered = None if owners is None else np.unique(self._column(owners), return_inverse=True)[1]
        return Dataset.of("the table", x, y, x[:1], y[:1], owners=numbered, classes=int(y.max()) + 1)

    def _samples(self, name: str | None) -> NDArray[np.float32]:
        names = self.dataset.column_names
        found = name or next((one for one in SAMPLES if one in names), None)
        if found is None:
            raise ValueError(f"samples: name the column with samples; there are {', '.join(names)}")
        return scaled(np.stack([sample(value) for value in self._table(found).to_pylist()]))

    def _column(self, name: str) -> NDArray[Any]:
        return np.asarray(self._table(name).to_pylist())

    def _table(self, name: str) -> Any:
        if name not in self.dataset.column_names:
            raise ValueError(f"there is no column '{name}'; there are {', '.join(self.dataset.column_names)}")
        return self.dataset.select_columns([name]).with_format("arrow")[:][name]


class SavedPartitioner(Partitioner):  # type: ignore[misc]
    """A partition that `coterie partition --out` or `Partition.save` wrote: the same federation on Flower.

    The table must hold the same samples in the same order; what can be checked of that here is their number, and that
    the table was not shuffled, which `FederatedDataset` does unless it is told not to.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self.partition = Partition.load(path)

    @property
    def num_partitions(self) -> int:
        """How many clients."""
        return len(self.partition)

    def load_partition(self, partition_id: int) -> Any:
        """What one client holds, as a table."""
        if self.partition.order.max(initial=-1) >= len(self.dataset):
            raise ValueError(f"the partition names sample {self.partition.order.max()}, but the table has {len(self.dataset)}")
        if getattr(self.dataset, "_indices", None) is not None:
            raise ValueError("the table was shuffled, but the partition counts samples as they were: say shuffle=False")
        return self.dataset.select(self.partition[partition_id])


def _of(scheme: type[Scheme]) -> type[SchemePartitioner]:
    title = f"{scheme.__name__}Partitioner"
    return type(title, (SchemePartitioner,), {"scheme": scheme, "__doc__": scheme.__doc__, "__module__": __name__})


DirichletPartitioner = _of(data.Dirichlet)
DirichletTotalPartitioner = _of(data.DirichletTotal)
DisPflPartitioner = _of(data.DisPfl)
DistributionPartitioner = _of(data.Distribution)
ExponentialPartitioner = _of(data.Exponential)
IidPartitioner = _of(data.Iid)
InnerDirichletPartitioner = _of(data.InnerDirichlet)
LinearPartitioner = _of(data.Linear)
NaturalPartitioner = _of(data.Natural)
PathologicalPartitioner = _of(data.Pathological)
QuantityPartitioner = _of(data.Quantity)
ShardsPartitioner = _of(data.Shards)
SquarePartitioner = _of(data.Square)
TwoLevelPartitioner = _of(data.TwoLevel)

PARTITIONERS = {name: globals()[f"{scheme.__name__}Partitioner"] for name, scheme in data.SCHEMES.items()}
"""By the scheme's name on the command line."""
