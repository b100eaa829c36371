"""The attack suite: what simulated attackers achieve against the audit, beside what users may rely on."""

from coterie.experiments.attacks.scoring import Row
from coterie.experiments.attacks.suite import NAMES, Suite, document, rows

__all__ = ["NAMES", "Row", "Suite", "document", "rows"]
