"""Experiments: methods × seeds on one federation, from a file to tables, figures and a report."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coterie.experiments.comparison import Comparison, compare, resume
    from coterie.experiments.problems import BadInputError
    from coterie.experiments.store import decisions, listening, results

_NAMES = {
    "BadInputError": "problems",
    "Comparison": "comparison",
    "compare": "comparison",
    "decisions": "store",
    "listening": "store",
    "results": "store",
    "resume": "comparison",
}


def __getattr__(name: str) -> Any:
    """Imported when first used, so that the command line answers at once."""
    if name in _NAMES:
        return getattr(import_module(f"coterie.experiments.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'coterie.experiments' has no attribute '{name}'")


__all__ = ["BadInputError", "Comparison", "compare", "decisions", "listening", "results", "resume"]
