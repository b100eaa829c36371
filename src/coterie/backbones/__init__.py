"""How a client trains, what it shares and what stays: one way a file, one line here."""

from coterie.backbones.sgd import SGD

__all__ = ["SGD"]
