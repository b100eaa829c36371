"""Parties, keys, clients' data and reputations."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter

from coterie.service import audit_log, parties, rights, standing
from coterie.service.desk import AtDesk
from coterie.service.grounds import check_scheme
from coterie.service.shapes import (
    Admission,
    Admitted,
    Described,
    Description,
    GroundIn,
    GroundOut,
    KeyIn,
    KeyListed,
    KeyOut,
    Made,
    Number,
    PartyOut,
    ReputationOut,
    RulesOut,
)

router = APIRouter(tags=["parties"])


@router.get("/me", response_model=PartyOut)
def me(desk: AtDesk) -> Any:
    """Says whose key this is."""
    return asdict(desk.who)


@router.get("/rules", response_model=RulesOut)
def the_rules(desk: AtDesk) -> Any:
    """Shows the market's rules."""
    with desk.store.read() as connection:
        return asdict(parties.rules_of(connection))


@router.get("/grounds", response_model=list[GroundOut])
def grounds(desk: AtDesk) -> Any:
    """Lists the grounds in which cohorts can train."""
    with desk.store.read() as connection:
        return parties.all_grounds(connection)


@router.post("/grounds", response_model=Made, status_code=201)
def lay_ground(desk: AtDesk, ground: GroundIn) -> Any:
    """Names a ground. What cannot be dealt by its scheme is refused; data are looked for when a cohort trains."""
    settings = ground.settings.model_dump()
    check_scheme(settings["partition"])
    return {"id": desk.write(parties.lay_ground, ground.name, settings)}


@router.get("/parties", response_model=list[PartyOut])
def all_parties(desk: AtDesk) -> Any:
    """Lists all parties."""
    rights.require(desk.who, "see all parties")
    with desk.store.read() as connection:
        return parties.listed(connection)


@router.post("/parties", response_model=Admitted, status_code=201)
def admit(desk: AtDesk, admission: Admission) -> Any:
    """Lets a party take part."""
    party, key = desk.write(parties.admit, admission.name, admission.role)
    return {**asdict(party), "key": key}


@router.get("/parties/{party}", response_model=PartyOut)
def one_party(desk: AtDesk, party: Number) -> Any:
    """Shows a party."""
    with desk.store.read() as connection:
        return asdict(parties.seen(connection, desk.who, party))


@router.get("/parties/{party}/keys", response_model=list[KeyListed])
def keys(desk: AtDesk, party: Number) -> Any:
    """Lists a party's keys, without the keys."""
    with desk.store.read() as connection:
        parties.seen(connection, desk.who, party)
        return parties.keys_of(connection, party)


@router.post("/parties/{party}/keys", response_model=KeyOut, status_code=201)
def make_key(desk: AtDesk, party: Number, wanted: KeyIn) -> Any:
    """Makes a further key, shown this once."""
    number, key = desk.write(parties.add_key, party, wanted.label)
    return {"id": number, "key": key}


@router.delete("/keys/{key}", status_code=204)
def revoke(desk: AtDesk, key: Number) -> None:
    """Makes a key worthless."""
    desk.write(parties.revoke_key, key)


@router.get("/parties/{party}/data", response_model=list[Described])
def data(desk: AtDesk, party: Number) -> Any:
    """Shows what is known of a client's data, the newest first; the first in a ground counts."""
    with desk.store.read() as connection:
        parties.seen(connection, desk.who, party, "see a client's data")
        return parties.descriptions(connection, party)


@router.post("/parties/{party}/data", response_model=Made, status_code=201)
def describe(desk: AtDesk, party: Number, said: Description) -> Any:
    """Says what data a client has."""
    return {"id": desk.write(parties.describe, party, said.ground, said.member, said.counts, said.reason)}


@router.get("/parties/{party}/reputation", response_model=ReputationOut)
def reputation(desk: AtDesk, party: Number) -> Any:
    """Shows a client's reputation now, and all events that it comes from."""
    with desk.store.read() as connection:
        parties.seen(connection, desk.who, party, "see a reputation")
        rows = standing.history(connection, party).get(party, [])
        now = max(desk.store.clock(), audit_log.head_of(connection).at)
        value = standing.reputation(parties.rules_of(connection).pipp, rows, now) if rows else 0.0
        return {"party": party, "value": value, "events": [dict(row._mapping) for row in rows]}
