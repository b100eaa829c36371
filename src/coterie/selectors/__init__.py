"""Who trains the one global model: one method a file, one line here."""

from coterie.selectors.active_fl import ActiveFL
from coterie.selectors.clusters_only import ClustersOnly
from coterie.selectors.ddqn import Ddqn
from coterie.selectors.divfl import DivFL
from coterie.selectors.fedcbs import FedCBS
from coterie.selectors.fedcor import FedCor
from coterie.selectors.fedcs import FedCS
from coterie.selectors.fedcvr_bolt import FedCVRBolt
from coterie.selectors.fedmccs import FedMCCS
from coterie.selectors.oort import Oort
from coterie.selectors.power_of_choice import PowerOfChoice
from coterie.selectors.round_robin import RoundRobin
from coterie.selectors.server_stackelberg import ServerStackelberg
from coterie.selectors.uniform import Uniform
from coterie.selectors.volume_contribution import VolumeContribution

__all__ = [
    "ActiveFL",
    "ClustersOnly",
    "Ddqn",
    "DivFL",
    "FedCBS",
    "FedCS",
    "FedCVRBolt",
    "FedCor",
    "FedMCCS",
    "Oort",
    "PowerOfChoice",
    "RoundRobin",
    "ServerStackelberg",
    "Uniform",
    "VolumeContribution",
]
