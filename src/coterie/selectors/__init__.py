"""Who trains the one global model: one method a file, one line here."""

from coterie.selectors.uniform import Uniform

__all__ = ["Uniform"]
