"""The tables of the first version."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes all tables."""
    op.create_table(
        "appeals",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("party", sa.BigInteger(), nullable=False),
        sa.Column("about", sa.String(length=10), nullable=False),
        sa.Column("task", sa.BigInteger(), nullable=True),
        sa.Column("event", sa.Integer(), nullable=True),
        sa.Column("words", sa.String(length=2000), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_appeals")),
    )
    op.create_index(op.f("ix_appeals_party"), "appeals", ["party"], unique=False)
    op.create_table(
        "audit_head",
        sa.Column("single", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.CheckConstraint("single = 1", name=op.f("ck_audit_head_one")),
        sa.PrimaryKeyConstraint("single", name=op.f("pk_audit_head")),
    )
    op.create_table(
        "audit_log",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("actor", sa.BigInteger(), nullable=False),
        sa.Column("action", sa.String(length=400), nullable=False),
        sa.Column("wrote", sa.String(length=40), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("previous", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_audit_log")),
    )
    op.create_table(
        "bids",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("task", sa.BigInteger(), nullable=False),
        sa.Column("party", sa.BigInteger(), nullable=False),
        sa.Column("price", sa.BigInteger(), nullable=True),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.CheckConstraint("price >= 0", name=op.f("ck_bids_price")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bids")),
    )
    op.create_index("ix_bids_task_party", "bids", ["task", "party"], unique=False)
    op.create_index("ix_bids_task_place", "bids", ["task", "place"], unique=False)
    op.create_table(
        "decisions",
        sa.Column("entry", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("task", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("party", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("bid", sa.BigInteger(), nullable=False),
        sa.Column("price", sa.BigInteger(), nullable=False),
        sa.Column("profile", sa.BigInteger(), nullable=False),
        sa.Column("reputation", sa.Double(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("score", sa.Double(), nullable=True),
        sa.Column("rank", sa.Integer(), nullable=True),
        sa.Column("verdict", sa.String(length=80), nullable=False),
        sa.Column("critical", sa.BigInteger(), nullable=True),
        sa.Column("won", sa.Boolean(), nullable=False),
        sa.Column("payment", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("task", "party", name=op.f("pk_decisions")),
    )
    op.create_index(op.f("ix_decisions_entry"), "decisions", ["entry"], unique=False)
    op.create_index("ix_decisions_party", "decisions", ["party"], unique=False)
    op.create_table(
        "entries",
        sa.Column("entry", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("transfer", sa.BigInteger(), nullable=False),
        sa.Column("account", sa.String(length=40), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("balance", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("balance >= 0 OR account = 'outside' OR amount > 0", name=op.f("ck_entries_covered")),
        sa.CheckConstraint("amount <> 0", name=op.f("ck_entries_amount")),
        sa.PrimaryKeyConstraint("account", "number", name=op.f("pk_entries")),
    )
    op.create_index(op.f("ix_entries_entry"), "entries", ["entry"], unique=False)
    op.create_index(op.f("ix_entries_transfer"), "entries", ["transfer"], unique=False)
    op.create_table(
        "events",
        sa.Column("entry", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("party", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("reason", sa.String(length=400), nullable=False),
        sa.Column("task", sa.BigInteger(), nullable=True),
        sa.Column("round", sa.Integer(), nullable=True),
        sa.Column("overturns", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("party", "number", name=op.f("pk_events")),
        sa.UniqueConstraint("party", "task", "round", "kind", name=op.f("uq_events_party_task_round_kind")),
    )
    op.create_index(op.f("ix_events_entry"), "events", ["entry"], unique=False)
    op.create_index(op.f("ix_events_task"), "events", ["task"], unique=False)
    op.create_table(
        "grounds",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_grounds")),
        sa.UniqueConstraint("name", name=op.f("uq_grounds_name")),
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("party", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("label", sa.String(length=80), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
        sa.UniqueConstraint("hash", name=op.f("uq_keys_hash")),
    )
    op.create_index(op.f("ix_keys_party"), "keys", ["party"], unique=False)
    op.create_table(
        "moves",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("task", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("reason", sa.String(length=400), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_moves")),
        sa.UniqueConstraint("task", "number", name=op.f("uq_moves_task_number")),
    )
    op.create_table(
        "parties",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_parties")),
        sa.UniqueConstraint("name", name=op.f("uq_parties_name")),
    )
    op.create_table(
        "profiles",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("party", sa.BigInteger(), nullable=False),
        sa.Column("ground", sa.String(length=80), nullable=False),
        sa.Column("member", sa.String(length=80), nullable=False),
        sa.Column("counts", sa.Text(), nullable=False),
        sa.Column("reason", sa.String(length=400), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_profiles")),
    )
    op.create_index("ix_profiles_party_ground", "profiles", ["party", "ground"], unique=False)
    op.create_table(
        "revocations",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("key", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_revocations")),
        sa.UniqueConstraint("key", name=op.f("uq_revocations_key")),
    )
    op.create_table(
        "rounds",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("task", sa.BigInteger(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("asked", sa.Integer(), nullable=False),
        sa.Column("answered", sa.Integer(), nullable=False),
        sa.Column("used", sa.Integer(), nullable=False),
        sa.Column("accuracy", sa.Double(), nullable=True),
        sa.Column("loss", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rounds")),
        sa.UniqueConstraint("task", "round", name=op.f("uq_rounds_task_round")),
    )
    op.create_table(
        "rules",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("commission", sa.Integer(), nullable=False),
        sa.Column("reward", sa.Double(), nullable=False),
        sa.Column("penalty", sa.Double(), nullable=False),
        sa.Column("decay", sa.Double(), nullable=False),
        sa.Column("welcome", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rules")),
    )
    op.create_table(
        "rulings",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("appeal", sa.BigInteger(), nullable=False),
        sa.Column("granted", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.String(length=400), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rulings")),
        sa.UniqueConstraint("appeal", name=op.f("uq_rulings_appeal")),
    )
    op.create_table(
        "tasks",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("owner", sa.BigInteger(), nullable=False),
        sa.Column("title", sa.String(length=120), nullable=False),
        sa.Column("about", sa.String(length=2000), nullable=False),
        sa.Column("ground", sa.String(length=80), nullable=False),
        sa.Column("quotas", sa.Text(), nullable=False),
        sa.Column("weights", sa.Text(), nullable=False),
        sa.Column("budget", sa.BigInteger(), nullable=True),
        sa.Column("reserve_price", sa.BigInteger(), nullable=False),
        sa.Column("cap", sa.BigInteger(), nullable=True),
        sa.Column("places", sa.Integer(), nullable=False),
        sa.Column("reputation_weight", sa.Double(), nullable=False),
        sa.Column("price_weight", sa.Double(), nullable=False),
        sa.Column("coverage_weight", sa.Double(), nullable=False),
        sa.Column("sufficiency_weight", sa.Double(), nullable=False),
        sa.Column("mechanism", sa.String(length=20), nullable=False),
        sa.Column("partial", sa.Boolean(), nullable=False),
        sa.Column("rounds", sa.Integer(), nullable=False),
        sa.Column("commission", sa.Integer(), nullable=False),
        sa.Column("closes_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tasks")),
    )
    op.create_index(op.f("ix_tasks_owner"), "tasks", ["owner"], unique=False)
    op.create_table(
        "transfers",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("reason", sa.String(length=400), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_transfers")),
        sa.UniqueConstraint("key", name=op.f("uq_transfers_key")),
    )
