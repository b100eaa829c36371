"""Data: sources, partitions, splits, and measures of how unlike the clients are."""

from coterie.data.dataset import Dataset
from coterie.data.dirichlet import Dirichlet
from coterie.data.iid import Iid
from coterie.data.partition import Partition
from coterie.data.pathological import Pathological
from coterie.data.scheme import Scheme
from coterie.data.shards import Shards
from coterie.data.sources import load
from coterie.data.splits import Groups, Splits, split_clients

dirichlet = Dirichlet
iid = Iid
pathological = Pathological
shards = Shards

__all__ = [
    "Dataset",
    "Dirichlet",
    "Groups",
    "Iid",
    "Partition",
    "Pathological",
    "Scheme",
    "Shards",
    "Splits",
    "dirichlet",
    "iid",
    "load",
    "pathological",
    "shards",
    "split_clients",
]
