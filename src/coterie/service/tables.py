"""The tables of the market. Rows are added and never changed, except for the one row that holds the head of the log.

Every row of an audited table names the entry of the audit log that wrote it: in `id` where an entry writes one row, else
in `entry`. So each row can be checked against the log, and the log against the rows. All times are seconds since 1970.
Money is whole minor units.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _id() -> Column[int]:
    return Column("id", BigInteger, primary_key=True, autoincrement=False)


def _entry() -> Column[int]:
    return Column("entry", BigInteger, nullable=False, index=True)


def _at() -> Column[float]:
    return Column("at", Double, nullable=False)


def _ref(name: str, *, null: bool = False, index: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=null, index=index)


audit_log = Table(
    "audit_log",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    _at(),
    _ref("actor"),
    Column("action", String(400), nullable=False),
    Column("wrote", String(40), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
)
"""What was done, by whom (0 is the service itself), which table it wrote, and a hash over the rows and all before."""

audit_head = Table(
    "audit_head",
    metadata,
    Column("single", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
    Column("hash", String(64), nullable=False),
    CheckConstraint("single = 1", name="one"),
)
"""The last entry, so that entries cut off at the end are missed too."""

rules = Table(
    "rules",
    metadata,
    _id(),
    _at(),
    Column("commission", Integer, nullable=False),
    Column("reward", Double, nullable=False),
    Column("penalty", Double, nullable=False),
    Column("decay", Double, nullable=False),
    Column("welcome", Double, nullable=False),
)
"""One row: what the network owner laid down when the market was founded."""

grounds = Table(
    "grounds",
    metadata,
    _id(),
    _at(),
    Column("name", String(80), nullable=False, unique=True),
    Column("settings", Text, nullable=False),
)
"""Where cohorts train: a federation by name, with its settings as JSON."""

parties = Table(
    "parties",
    metadata,
    _id(),
    _at(),
    Column("name", String(80), nullable=False, unique=True),
    Column("role", String(10), nullable=False),
)

keys = Table(
    "keys",
    metadata,
    _id(),
    _at(),
    _ref("party", index=True),
    Column("hash", String(64), nullable=False, unique=True),
    Column("label", String(80), nullable=False),
)
"""Only hashes of keys: nobody can read a key back."""

revocations = Table("revocations", metadata, _id(), _at(), Column("key", BigInteger, nullable=False, unique=True))

profiles = Table(
    "profiles",
    metadata,
    _id(),
    _at(),
    _ref("party"),
    Column("ground", String(80), nullable=False),
    Column("member", String(80), nullable=False),
    Column("counts", Text, nullable=False),
    Column("reason", String(400), nullable=False),
    Index("ix_profiles_party_ground", "party", "ground"),
)
"""What the network owner knows of a client's data: who it is in a ground, and its samples of each class. The last counts."""

tasks = Table(
    "tasks",
    metadata,
    _id(),
    _at(),
    _ref("owner", index=True),
    Column("title", String(120), nullable=False),
    Column("about", String(2000), nullable=False),
    Column("ground", String(80), nullable=False),
    Column("quotas", Text, nullable=False),
    Column("weights", Text, nullable=False),
    _ref("budget", null=True),
    _ref("reserve_price"),
    _ref("cap", null=True),
    Column("places", Integer, nullable=False),
    Column("reputation_weight", Double, nullable=False),
    Column("price_weight", Double, nullable=False),
    Column("coverage_weight", Double, nullable=False),
    Column("sufficiency_weight", Double, nullable=False),
    Column("mechanism", String(20), nullable=False),
    Column("partial", Boolean(create_constraint=False), nullable=False),
    Column("rounds", Integer, nullable=False),
    Column("commission", Integer, nullable=False),
    Column("closes_at", Double, nullable=True),
)

moves = Table(
    "moves",
    metadata,
    _id(),
    _at(),
    _ref("task"),
    Column("number", Integer, nullable=False),
    Column("status", String(10), nullable=False),
    Column("reason", String(400), nullable=False),
    UniqueConstraint("task", "number"),
)
"""The life of a task: its status is that of its last move."""

bids = Table(
    "bids",
    metadata,
    _id(),
    _at(),
    _ref("task"),
    _ref("party"),
    _ref("price", null=True),
    Column("place", Integer, nullable=False),
    CheckConstraint("price >= 0", name="price"),
    Index("ix_bids_task_party", "task", "party"),
    Index("ix_bids_task_place", "task", "place"),
)
"""A client's last row is its bid; without a price it is withdrawn. Its place says as which client it came to the task."""

decisions = Table(
    "decisions",
    metadata,
    _entry(),
    _at(),
    Column("task", BigInteger, primary_key=True, autoincrement=False),
    Column("party", BigInteger, primary_key=True, autoincrement=False),
    _ref("bid"),
    _ref("price"),
    _ref("profile"),
    Column("reputation", Double, nullable=False),
    Column("value", Double, nullable=False),
    Column("score", Double, nullable=True),
    Column("rank", Integer, nullable=True),
    Column("verdict", String(80), nullable=False),
    _ref("critical", null=True),
    Column("won", Boolean(create_constraint=False), nullable=False),
    _ref("payment"),
    Index("ix_decisions_party", "party"),
)
"""An auction: a row a bidder, with all that decided."""

rounds = Table(
    "rounds",
    metadata,
    _id(),
    _at(),
    _ref("task"),
    Column("round", Integer, nullable=False),
    Column("asked", Integer, nullable=False),
    Column("answered", Integer, nullable=False),
    Column("used", Integer, nullable=False),
    Column("accuracy", Double, nullable=True),
    Column("loss", Double, nullable=True),
    UniqueConstraint("task", "round"),
)

events = Table(
    "events",
    metadata,
    _entry(),
    _at(),
    Column("party", BigInteger, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(10), nullable=False),
    Column("reason", String(400), nullable=False),
    _ref("task", null=True, index=True),
    Column("round", Integer, nullable=True),
    Column("overturns", Integer, nullable=True),
    UniqueConstraint("party", "task", "round", "kind"),
)
"""All that bears on reputations."""

transfers = Table(
    "transfers",
    metadata,
    _id(),
    _at(),
    Column("key", String(200), nullable=False, unique=True),
    Column("reason", String(400), nullable=False),
)

entries = Table(
    "entries",
    metadata,
    _entry(),
    _at(),
    _ref("transfer", index=True),
    Column("account", String(40), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    _ref("amount"),
    _ref("balance"),
    CheckConstraint("amount <> 0", name="amount"),
    CheckConstraint("balance >= 0 OR account = 'outside' OR amount > 0", name="covered"),
)
"""Double entries: what an account gains in a transfer, and what it holds afterwards."""

appeals = Table(
    "appeals",
    metadata,
    _id(),
    _at(),
    _ref("party", index=True),
    Column("about", String(10), nullable=False),
    _ref("task", null=True),
    Column("event", Integer, nullable=True),
    Column("words", String(2000), nullable=False),
)

rulings = Table(
    "rulings",
    metadata,
    _id(),
    _at(),
    Column("appeal", BigInteger, nullable=False, unique=True),
    Column("granted", Boolean(create_constraint=False), nullable=False),
    Column("reason", String(400), nullable=False),
)

AUDITED = {table.name: table for table in metadata.sorted_tables if not table.name.startswith("audit")}


def entry_of(table: Table) -> Column[Any]:
    """The column that names the entry of the audit log."""
    return table.c["id"] if "id" in table.c else table.c["entry"]
