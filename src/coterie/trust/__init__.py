"""What is believed of clients, and why: columns of the roster."""

from coterie.trust.audit import Audit, Judged
from coterie.trust.evidence import Evidence
from coterie.trust.past import Past
from coterie.trust.recommendations import Experience, Words, overall_trust, subjective_trust
from coterie.trust.telemetry import objective_trust

__all__ = [
    "Audit",
    "Evidence",
    "Experience",
    "Judged",
    "Past",
    "Words",
    "objective_trust",
    "overall_trust",
    "subjective_trust",
]
