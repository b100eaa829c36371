"""Who listens to whom, where there is no server: one rule a file, one line here."""

from coterie.neighbors.alone import Alone
from coterie.neighbors.gossip import Gossip

__all__ = ["Alone", "Gossip"]
