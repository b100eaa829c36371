"""What is learned, and who holds which part of it."""

from functools import cache

from coterie import data

MODEL = "linear"
"""An architecture that Coterie knows by name; a function that makes a torch module does as well."""
SEED = 1
"""Of the partition: all nodes must draw the same one."""


@cache
def digits() -> data.Dataset:
    """1,797 images of 8 × 8 pixels, which come with scikit-learn."""
    return data.load("digits")


@cache
def samples_of(client: int, clients: int):
    """One client's images and labels. Classes are unevenly spread. A node of yours reads its own files here."""
    rows = data.Dirichlet(0.5, min_size=10).split(digits(), clients, SEED)[client]
    return digits().x[rows], digits().y[rows]
