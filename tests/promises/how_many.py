"""How much of a promise is tried: a little in `make test`, all that is promised in `make promises`."""

import os

FULL = os.environ.get("COTERIE_PROMISES") == "full"


def many(few, full):
    """The number for this run."""
    return full if FULL else few
