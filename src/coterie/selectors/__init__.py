"""Who trains the one global model: one method a file, one line here."""

from coterie.selectors.active_fl import ActiveFL
from coterie.selectors.oort import Oort
from coterie.selectors.power_of_choice import PowerOfChoice
from coterie.selectors.round_robin import RoundRobin
from coterie.selectors.uniform import Uniform

__all__ = ["ActiveFL", "Oort", "PowerOfChoice", "RoundRobin", "Uniform"]
