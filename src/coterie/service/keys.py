"""Who asks: keys that are shown once and kept as hashes, and the three roles."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Literal, get_args

from sqlalchemy import Connection, exists, select

from coterie.service.refusals import Unknown
from coterie.service.store import Write
from coterie.service.tables import keys, parties, revocations

Role = Literal["network", "owner", "client"]
ROLES: tuple[Role, ...] = get_args(Role)
IN_WORDS = {"network": "network owner", "owner": "task owner", "client": "client"}


@dataclass(frozen=True)
class Party:
    """Somebody with a role."""

    id: int
    name: str
    role: Role

    @property
    def account(self) -> str:
        """Where its money is."""
        return "network" if self.role == "network" else f"party:{self.id}"


def hashed(key: str) -> str:
    """What is kept of a key. Keys are 256 random bits, so a plain hash of one cannot be guessed back."""
    return hashlib.sha256(key.encode()).hexdigest()


def issue(write: Write, party: int, label: str) -> tuple[int, str]:
    """Makes a key for a party: its number, and the key itself, which is never seen again."""
    key = "ck_" + secrets.token_urlsafe(32)
    number = write.add(keys, {"party": party, "hash": hashed(key), "label": label}, f"a key for party {party}: {label}")
    return number, key


def whose(connection: Connection, key: str) -> Party:
    """The party that a key belongs to."""
    revoked = exists().where(revocations.c.key == keys.c.id)
    found = connection.execute(
        select(parties.c.id, parties.c.name, parties.c.role)
        .join(keys, keys.c.party == parties.c.id)
        .where(keys.c.hash == hashed(key), ~revoked)
    ).one_or_none()
    if found is None:
        raise Unknown("this key is not known here, or was revoked")
    return Party(found.id, found.name, found.role)
