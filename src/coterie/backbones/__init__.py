"""How a client trains, what it shares and what stays: one way a file, one line here."""

from coterie.backbones.dis_pfl import DisPfl
from coterie.backbones.ditto import Ditto
from coterie.backbones.fed_bn import FedBN
from coterie.backbones.fed_l2p import FedL2P
from coterie.backbones.fine_tune import FineTune
from coterie.backbones.head_first import HeadFirst
from coterie.backbones.prox import Prox
from coterie.backbones.sgd import SGD

__all__ = ["SGD", "DisPfl", "Ditto", "FedBN", "FedL2P", "FineTune", "HeadFirst", "Prox"]
