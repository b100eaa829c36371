"""Who may do what, on one page: for each thing to do, the roles that may, each with anything or with its own only."""

from __future__ import annotations

from typing import Literal

from coterie.service.keys import IN_WORDS, Party, Role
from coterie.service.refusals import NotAllowed

Reach = Literal["any", "own"]
_NETWORK: dict[Role, Reach] = {"network": "any"}
_SELF: dict[Role, Reach] = {"network": "any", "owner": "own", "client": "own"}
_OWNER: dict[Role, Reach] = {"owner": "own"}
_CLIENT: dict[Role, Reach] = {"client": "own"}
_TASK: dict[Role, Reach] = {"network": "any", "owner": "own"}

RIGHTS: dict[str, dict[Role, Reach]] = {
    "see all parties": _NETWORK,
    "admit a party": _NETWORK,
    "see a party": _SELF,
    "describe a client's data": _NETWORK,
    "see a client's data": {"network": "any", "client": "own"},
    "make a key": _SELF,
    "revoke a key": _SELF,
    "see a reputation": {"network": "any", "client": "own"},
    "name a ground": _NETWORK,
    "see all accounts": _NETWORK,
    "see an account": _SELF,
    "pay money in": _NETWORK,
    "take money out": {"network": "own", "owner": "own", "client": "own"},
    "publish a task": _OWNER,
    "see a draft": _TASK,
    "open a task": _OWNER,
    "close a task": _TASK,
    "cancel a task": _TASK,
    "fail a task": _NETWORK,
    "run an auction": _NETWORK,
    "start training": _NETWORK,
    "settle a task": _NETWORK,
    "bid": _CLIENT,
    "see a bid": _CLIENT,
    "see all bids": _NETWORK,
    "see a cohort": _TASK,
    "see an explanation": {"network": "any", "client": "own"},
    "appeal": _CLIENT,
    "see an appeal": {"network": "any", "client": "own"},
    "rule on an appeal": _NETWORK,
    "see the audit log": _NETWORK,
    "verify": _NETWORK,
}


def may(who: Party, what: str, whose: int | None = None) -> bool:
    """Whether a party may do something with what belongs to a party, or with what belongs to nobody else (None)."""
    reach = RIGHTS[what].get(who.role)
    return reach == "any" or (reach == "own" and whose in (None, who.id))


def require(who: Party, what: str, whose: int | None = None) -> None:
    """Refuses what a party may not do."""
    if may(who, what, whose):
        return
    allowed = [
        f"{IN_WORDS[role]}s" + (" with what is theirs" if reach == "own" else "") for role, reach in RIGHTS[what].items()
    ]
    raise NotAllowed(f"to {what} is for {' and '.join(allowed)}")
