"""Parties: who takes part, their keys, and what the network owner knows of clients' data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from coterie.market.reputation import Pipp
from coterie.service import keys, rights
from coterie.service.keys import Party, Role
from coterie.service.refusals import Conflict, NotThere, Unfit
from coterie.service.store import Write
from coterie.service.tables import events, grounds, parties, profiles, revocations, rules
from coterie.service.tables import keys as keys_table

MOST_SAMPLES = 10**9


@dataclass(frozen=True)
class Rules:
    """What the network owner lays down when the market is founded."""

    commission: int = 500
    """Basis points of what winners are paid, on top."""
    reward: float = 0.02
    penalty: float = 0.2
    decay: float = 0.01
    """By how much a reputation fades in a day of idleness: e^(−decay·days)."""
    welcome: float = 0.0

    def __post_init__(self) -> None:
        self.pipp  # noqa: B018 - refuses what cannot be
        if not 0 <= self.commission <= 10_000:
            raise ValueError(f"commission: must be from 0 to 10000 basis points, not {self.commission}")

    @property
    def pipp(self) -> Pipp:
        """How events become a reputation; its unit of time is the day."""
        return Pipp(self.reward, self.penalty, self.decay, self.welcome)


def found(write: Write, laid_down: Rules, name: str) -> tuple[Party, str] | None:
    """Founds the market: its rules, and the network owner with a key. None where it was founded before."""
    if write.connection.execute(select(rules.c.id)).first() is not None:
        return None
    write.add(rules, asdict(laid_down), "the market is founded")
    number = write.add(parties, {"name": name, "role": "network"}, f"network owner '{name}'")
    return Party(number, name, "network"), keys.issue(write, number, "first key")[1]


def rules_of(connection: Connection) -> Rules:
    """The rules of this market."""
    row = connection.execute(select(rules)).one()
    return Rules(row.commission, row.reward, row.penalty, row.decay, row.welcome)


def admit(write: Write, who: Party, name: str, role: Role) -> tuple[Party, str]:
    """Lets a party take part, and makes its first key."""
    rights.require(who, "admit a party")
    if role == "network":
        raise Conflict("a market has one network owner")
    if write.connection.execute(select(parties.c.id).where(parties.c.name == name)).first() is not None:
        raise Conflict(f"there is a party '{name}' already")
    number = write.add(parties, {"name": name, "role": role}, f"{keys.IN_WORDS[role]} '{name}' is admitted")
    if role == "client":
        joined = {"party": number, "number": 1, "kind": "joined", "reason": "admitted to the market"}
        write.add(events, {**joined, "task": None, "round": None, "overturns": None}, f"party {number} begins a reputation")
    return Party(number, name, role), keys.issue(write, number, "first key")[1]


def party(connection: Connection, number: int) -> Party:
    """A party by its number."""
    row = connection.execute(select(parties).where(parties.c.id == number)).one_or_none()
    if row is None:
        raise NotThere(f"there is no party {number}")
    return Party(row.id, row.name, row.role)


def seen(connection: Connection, who: Party, number: int, what: str = "see a party") -> Party:
    """A party, for those who may know of it."""
    rights.require(who, what, number)
    return party(connection, number)


def add_key(write: Write, who: Party, whom: int, label: str) -> tuple[int, str]:
    """Makes a further key for a party."""
    seen(write.connection, who, whom, "make a key")
    return keys.issue(write, whom, label)


def revoke_key(write: Write, who: Party, number: int) -> None:
    """Makes a key worthless."""
    row = write.connection.execute(select(keys_table).where(keys_table.c.id == number)).one_or_none()
    if row is None or not rights.may(who, "revoke a key", row.party):
        raise NotThere(f"there is no key {number} that you may revoke")
    if write.connection.execute(select(revocations.c.id).where(revocations.c.key == number)).first() is not None:
        return
    write.add(revocations, {"key": number}, f"key {number} of party {row.party} is revoked")


def keys_of(connection: Connection, whom: int) -> list[Mapping[str, Any]]:
    """A party's keys, without the keys."""
    rows = connection.execute(
        select(keys_table.c.id, keys_table.c.at, keys_table.c.label, revocations.c.at.label("revoked_at"))
        .outerjoin(revocations, revocations.c.key == keys_table.c.id)
        .where(keys_table.c.party == whom)
        .order_by(keys_table.c.id)
    )
    return [dict(row) for row in rows.mappings()]


def lay_ground(write: Write, who: Party, name: str, settings: Mapping[str, Any]) -> int:
    """Names a federation in which cohorts can train."""
    rights.require(who, "name a ground")
    if write.connection.execute(select(grounds.c.id).where(grounds.c.name == name)).first() is not None:
        raise Conflict(f"there is a ground '{name}' already")
    return write.add(grounds, {"name": name, "settings": json.dumps(settings, sort_keys=True)}, f"ground '{name}'")


def all_grounds(connection: Connection) -> list[dict[str, Any]]:
    """Every ground with its settings."""
    rows = connection.execute(select(grounds).order_by(grounds.c.id))
    return [{"name": row.name, "settings": json.loads(row.settings)} for row in rows]


def ground_settings(connection: Connection, name: str) -> dict[str, Any] | None:
    """The settings of a ground; None where there is none of that name."""
    found = connection.execute(select(grounds.c.settings).where(grounds.c.name == name)).scalar_one_or_none()
    return None if found is None else dict(json.loads(found))


def describe(write: Write, who: Party, whom: int, ground: str, member: str, counts: Sequence[int], reason: str) -> int:
    """Says what data a client has: what the auction counts from now on."""
    rights.require(who, "describe a client's data", whom)
    if party(write.connection, whom).role != "client":
        raise Conflict(f"party {whom} is no client, and only clients have data")
    if not counts or any(not 0 <= count <= MOST_SAMPLES for count in counts):
        raise Unfit(f"counts: one number a class is needed, each from 0 to {MOST_SAMPLES}")
    held = [one.party for one in profiles_of(write.connection, ground).values() if one.member == member and one.party != whom]
    if held:
        raise Conflict(f"member '{member}' of '{ground}' is party {held[0]}")
    row = {"party": whom, "ground": ground, "member": member, "counts": json.dumps(list(counts)), "reason": reason}
    return write.add(profiles, row, f"data of party {whom} in '{ground}': {reason}")


def profiles_of(connection: Connection, ground: str, whom: Sequence[int] | None = None) -> dict[int, Any]:
    """The descriptions of clients' data that are in force, by party."""
    newest = select(func.max(profiles.c.id)).where(profiles.c.ground == ground).group_by(profiles.c.party)
    if whom is not None and len(whom) == 1:
        newest = newest.where(profiles.c.party == whom[0])
    rows = connection.execute(select(profiles).where(profiles.c.id.in_(newest)))
    wanted = None if whom is None else set(whom)
    return {row.party: row for row in rows if wanted is None or row.party in wanted}


def descriptions(connection: Connection, whom: int) -> list[dict[str, Any]]:
    """All that was ever said of a client's data, the newest first."""
    rows = connection.execute(select(profiles).where(profiles.c.party == whom).order_by(profiles.c.id.desc())).mappings()
    return [{**row, "counts": json.loads(row["counts"])} for row in rows]


def listed(connection: Connection) -> list[dict[str, Any]]:
    """All parties."""
    return [dict(row) for row in connection.execute(select(parties).order_by(parties.c.id)).mappings()]
