"""The marketplace: task owners buy training, clients sell it. Rules only: nothing here reads, writes or knows the time."""

from coterie.market.auction import clear
from coterie.market.award import Award
from coterie.market.bids import Bids
from coterie.market.proportional import proportional_share
from coterie.market.task import Task

__all__ = ["Award", "Bids", "Task", "clear", "proportional_share"]
