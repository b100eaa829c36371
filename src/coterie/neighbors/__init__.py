"""Who listens to whom, where there is no server: one rule a file, one line here."""

from coterie.neighbors.afind import Afind
from coterie.neighbors.alone import Alone
from coterie.neighbors.federico import Federico
from coterie.neighbors.gossip import Gossip
from coterie.neighbors.pens import Pens
from coterie.neighbors.wary import Wary

__all__ = ["Afind", "Alone", "Federico", "Gossip", "Pens", "Wary"]
