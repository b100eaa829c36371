"""What leaves a client besides its model, and in what form: one rule a file, one line here."""

from coterie.privacy.exact import Exact
from coterie.privacy.volumes import Volumes

__all__ = ["Exact", "Volumes"]
