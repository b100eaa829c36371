"""Who is with whom: one rule a file, one line here."""

from coterie.coalitions.by_column import ByColumn
from coterie.coalitions.fixed import Fixed
from coterie.coalitions.grand import Grand

__all__ = ["ByColumn", "Fixed", "Grand"]
