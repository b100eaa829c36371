"""The database's history: one file a change, applied in order by Alembic when a market is opened."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import text

from coterie.service.store import LOCK, Store


def migrate(store: Store) -> None:
    """Brings a database to the tables of this version; what is there stays."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    with store.engine.connect().execution_options(writes=True) as connection, connection.begin():
        if store.engine.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
