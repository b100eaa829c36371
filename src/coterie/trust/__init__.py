"""What is believed of clients, and why: columns of the roster."""

from coterie.trust.recommendations import Experience, Words, overall_trust, subjective_trust
from coterie.trust.telemetry import objective_trust

__all__ = ["Experience", "Words", "objective_trust", "overall_trust", "subjective_trust"]
