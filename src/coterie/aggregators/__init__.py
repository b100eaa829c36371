"""What replies become: one rule a file, one line here."""

from coterie.aggregators.by_size import BySize
from coterie.aggregators.krum import Krum
from coterie.aggregators.mean import Mean
from coterie.aggregators.median import Median
from coterie.aggregators.trimmed_mean import TrimmedMean

__all__ = ["BySize", "Krum", "Mean", "Median", "TrimmedMean"]
