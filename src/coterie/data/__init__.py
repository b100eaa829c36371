"""Data: sources, partitions, splits, and measures of how unlike the clients are."""

from coterie.data.dataset import Dataset
from coterie.data.dirichlet import Dirichlet
from coterie.data.dirichlet_total import DirichletTotal
from coterie.data.dis_pfl import DisPfl
from coterie.data.distribution import Distribution
from coterie.data.exponential import Exponential
from coterie.data.fetch import get, listing, where
from coterie.data.heterogeneity import Heterogeneity, feature_skew, measure
from coterie.data.iid import Iid
from coterie.data.inner_dirichlet import InnerDirichlet
from coterie.data.linear import Linear
from coterie.data.natural import Natural
from coterie.data.partition import Partition
from coterie.data.pathological import Pathological
from coterie.data.pictures import picture, side_by_side
from coterie.data.quantity import Quantity
from coterie.data.saved import Saved
from coterie.data.scheme import Scheme, name_of
from coterie.data.shards import Shards
from coterie.data.sources import load
from coterie.data.sources.hugging_face import from_hugging_face
from coterie.data.sources.regression import regression
from coterie.data.sources.synthetic import synthetic
from coterie.data.sources.torch_dataset import from_torch
from coterie.data.splits import Groups, Splits, split_clients
from coterie.data.square import Square
from coterie.data.targeting import Aim, aim
from coterie.data.two_level import TwoLevel

dirichlet = Dirichlet
dirichlet_total = DirichletTotal
dis_pfl = DisPfl
distribution = Distribution
exponential = Exponential
iid = Iid
inner_dirichlet = InnerDirichlet
linear = Linear
natural = Natural
pathological = Pathological
quantity = Quantity
shards = Shards
square = Square
two_level = TwoLevel

_ALL: tuple[type[Scheme], ...] = (
    *(Iid, Dirichlet, InnerDirichlet, DirichletTotal, TwoLevel, Shards, Pathological, Distribution, DisPfl),
    *(Exponential, Linear, Square, Quantity, Natural),
)
SCHEMES: dict[str, type[Scheme]] = {name_of(scheme): scheme for scheme in _ALL}
"""Every scheme by its name on the command line. Beside them, `Saved` reads a partition file."""

__all__ = [
    "SCHEMES",
    "Aim",
    "Dataset",
    "Dirichlet",
    "DirichletTotal",
    "DisPfl",
    "Distribution",
    "Exponential",
    "Groups",
    "Heterogeneity",
    "Iid",
    "InnerDirichlet",
    "Linear",
    "Natural",
    "Partition",
    "Pathological",
    "Quantity",
    "Saved",
    "Scheme",
    "Shards",
    "Splits",
    "Square",
    "TwoLevel",
    "aim",
    "dirichlet",
    "dirichlet_total",
    "dis_pfl",
    "distribution",
    "exponential",
    "feature_skew",
    "from_hugging_face",
    "from_torch",
    "get",
    "iid",
    "inner_dirichlet",
    "linear",
    "listing",
    "load",
    "measure",
    "natural",
    "pathological",
    "picture",
    "quantity",
    "regression",
    "shards",
    "side_by_side",
    "split_clients",
    "square",
    "synthetic",
    "two_level",
    "where",
]
