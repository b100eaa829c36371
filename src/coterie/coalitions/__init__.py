"""Who is with whom: one rule a file, one line here."""

from coterie.coalitions.by_column import ByColumn
from coterie.coalitions.cluster_fl import ClusterFL
from coterie.coalitions.error_hedonic import ErrorHedonic
from coterie.coalitions.fixed import Fixed
from coterie.coalitions.grand import Grand
from coterie.coalitions.ifca import Ifca
from coterie.coalitions.leader_follower import LeaderFollower
from coterie.coalitions.shared_error import SharedError
from coterie.coalitions.spectral import Spectral
from coterie.coalitions.trust_hedonic import TrustHedonic

__all__ = [
    "ByColumn",
    "ClusterFL",
    "ErrorHedonic",
    "Fixed",
    "Grand",
    "Ifca",
    "LeaderFollower",
    "SharedError",
    "Spectral",
    "TrustHedonic",
]
