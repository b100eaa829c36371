"""What replies become: one rule a file, one line here."""

from coterie.aggregators.by_size import BySize
from coterie.aggregators.mean import Mean

__all__ = ["BySize", "Mean"]
