"""Who holds which samples is read from a file, so that the same federation can be met anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from coterie.data.dataset import Dataset
from coterie.data.partition import Partition
from coterie.data.scheme import Holder, Scheme


@dataclass(frozen=True)
class Saved(Scheme):
    """Reads the partition from a file that `Partition.save` or `coterie partition --out` wrote; no seed changes it."""

    path: str
    """The file (.npz)."""

    def holders(self, dataset: Dataset, clients: int, dice: np.random.Generator) -> Holder:
        """What the file says, if it is of these data and has so many clients."""
        if not Path(self.path).is_file():
            raise ValueError(f"path: there is no file {self.path}")
        kept = Partition.load(self.path)
        kept.check(dataset)
        if len(kept) != clients:
            raise ValueError(f"path: {self.path} has {len(kept)} clients, not {clients}")
        holder = np.full(len(dataset), -1, dtype=np.intp)
        holder[kept.order] = kept.holder
        return holder
