"""Contract suites that every rule of a room must pass, ours and yours, and a toy federation to try rules on."""

from coterie.testing.aggregator import check_aggregator
from coterie.testing.backbone import check_backbone
from coterie.testing.believer import check_believer
from coterie.testing.contract import ContractError, check_fields, check_state
from coterie.testing.federation import check_federation
from coterie.testing.former import check_former
from coterie.testing.listener import check_listener
from coterie.testing.reporter import check_reporter
from coterie.testing.selector import check_selector
from coterie.testing.toy import CALM, ROUGH, Chances, Toy

__all__ = [
    "CALM",
    "ROUGH",
    "Chances",
    "ContractError",
    "Toy",
    "check_aggregator",
    "check_backbone",
    "check_believer",
    "check_federation",
    "check_fields",
    "check_former",
    "check_listener",
    "check_reporter",
    "check_selector",
    "check_state",
]
