"""Whatever is changed behind the market's back is found."""

from itertools import islice, pairwise

import pytest
from sqlalchemy import delete, insert, select, text, update

from coterie.service import appeals, verify
from coterie.service.tables import AUDITED, audit_head, audit_log, entry_of, metadata
from tests.service.small import small


@pytest.fixture
def market(light):
    made = small(light)
    made.settled(kinds=["dishonest"])
    contested = made.do(made.clients[0], appeals.contest_penalty, 2, "I was there")
    made.do(made.network, appeals.rule, contested, True, "so it was")
    assert made.problems() == []
    return made


def broken(market, *statements, first=False):
    """What `verify` says, or says first, after statements, which are undone afterwards."""
    with market.store.engine.connect() as connection, connection.begin() as change:
        for statement in statements:
            assert connection.execute(statement).rowcount
        found = list(islice(verify.problems(connection), 1 if first else None))
        change.rollback()
    return found


@pytest.mark.parametrize("column", ["at", "actor", "action", "wrote", "digest", "previous", "hash"])
def test_every_single_edit_of_the_log_is_found(market, column):
    with market.store.read() as connection:
        numbers = connection.execute(select(audit_log.c.number)).scalars().all()
    value = {"at": 1.0, "actor": 99}.get(column, "x")
    for number in numbers:
        assert broken(market, update(audit_log).where(audit_log.c.number == number).values({column: value}), first=True)


def test_every_single_deletion_from_the_log_is_found_the_last_too(market):
    with market.store.read() as connection:
        numbers = connection.execute(select(audit_log.c.number)).scalars().all()
    for number in numbers:
        assert broken(market, delete(audit_log).where(audit_log.c.number == number), first=True)
    assert broken(market, delete(audit_head))


def test_every_swap_of_neighbors_in_the_log_is_found(market):
    with market.store.read() as connection:
        rows = [dict(row) for row in connection.execute(select(audit_log).order_by(audit_log.c.number)).mappings()]
    for one, other in pairwise(rows):
        numbers = [one["number"], other["number"]]
        swapped = [{**one, "number": other["number"]}, {**other, "number": one["number"]}]
        statements = [
            delete(audit_log).where(audit_log.c.number.in_(numbers)),
            *(insert(audit_log).values(row) for row in swapped),
        ]
        assert broken(market, *statements, first=True)


@pytest.mark.parametrize("name", AUDITED)
def test_every_edit_and_deletion_of_a_row_is_found(market, name):
    table = AUDITED[name]
    with market.store.read() as connection:
        rows = connection.execute(select(table)).mappings().all()
    if not rows and name == "revocations":
        return
    assert rows, f"the market of this test wrote nothing to {name}"
    primary = [column.name for column in table.primary_key]
    for row in rows:
        this = [table.c[column] == row[column] for column in primary]
        assert broken(market, delete(table).where(*this))
        for column in table.columns:
            if column.name in primary or column is entry_of(table):
                continue
            value = row[column.name]
            other = (
                (not value) if isinstance(value, bool) else (value or 0) + 977 if not isinstance(value, str) else f"{value}9"
            )
            assert broken(market, update(table).where(*this).values({column.name: other})), (name, column.name)


def test_an_auction_without_a_bid_holds(light):
    market = small(light)
    assert market.status(market.auctioned(prices=())) == "failed"
    assert market.problems() == []


def test_rows_that_nobody_wrote_are_found(market):
    row = {"id": 10_000, "at": 1.0, "key": "forged", "reason": "forged"}
    assert broken(market, insert(metadata.tables["transfers"]).values(row)) == [
        "transfers: rows of entry 10000 that the audit log does not know"
    ]


def test_a_forger_who_also_fixes_the_digest_is_found_by_the_money(market):
    """Even a log that is made to fit cannot make up for money that does not add up."""
    from coterie.service import books

    with market.store.engine.connect() as connection, connection.begin() as change:
        connection.execute(text("UPDATE entries SET amount = amount + 1 WHERE account = 'network'"))
        assert any("do not sum to 0" in problem for problem in books.problems(connection))
        change.rollback()
