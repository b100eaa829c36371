"""What replies become: one rule a file, one line here."""

from coterie.aggregators.boltzmann import Boltzmann
from coterie.aggregators.by_size import BySize
from coterie.aggregators.coarse import Coarse
from coterie.aggregators.fine import Fine
from coterie.aggregators.fomo import Fomo
from coterie.aggregators.foolsgold import FoolsGold
from coterie.aggregators.krum import Krum
from coterie.aggregators.masked_mean import MaskedMean
from coterie.aggregators.mean import Mean
from coterie.aggregators.median import Median
from coterie.aggregators.own_share import OwnShare
from coterie.aggregators.server_steps import ServerSteps
from coterie.aggregators.trimmed_mean import TrimmedMean

__all__ = [
    "Boltzmann",
    "BySize",
    "Coarse",
    "Fine",
    "Fomo",
    "FoolsGold",
    "Krum",
    "MaskedMean",
    "Mean",
    "Median",
    "OwnShare",
    "ServerSteps",
    "TrimmedMean",
]
