"""Experiments: methods × seeds on one federation, from a file to tables, figures and a report."""

from coterie.experiments.comparison import Comparison, compare
from coterie.experiments.problems import BadInputError
from coterie.experiments.store import decisions, results

__all__ = ["BadInputError", "Comparison", "compare", "decisions", "results"]
