"""Both databases: SQLite in a file, and a PostgreSQL started from its binaries for the session."""

import os
import shutil
import subprocess
import tempfile
from itertools import count
from pathlib import Path

import pytest

from coterie.service.migrations import migrate
from coterie.service.store import Store

BINARIES = ("initdb", "pg_ctl")
MISSING = "PostgreSQL is not here (initdb and pg_ctl on PATH), so only SQLite is tested"
NUMBER = count()


@pytest.fixture(scope="session")
def postgres():
    """The URL of an empty PostgreSQL server, stopped and removed afterwards."""
    if not all(map(shutil.which, BINARIES)):
        pytest.skip(MISSING)
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if root and not shutil.which("runuser"):
        pytest.skip("PostgreSQL does not run as root, and there is no runuser to change to the user postgres")
    folder = Path(tempfile.mkdtemp(prefix="coterie-pg-"))
    if root:
        shutil.chown(folder, "postgres")
    start = (
        "initdb -D data -A trust -U coterie --no-sync >/dev/null && "
        f"pg_ctl -D data -w -l log -o \"-c listen_addresses= -c fsync=off -k '{folder}'\" start >/dev/null"
    )

    def shell(line):
        return subprocess.run([*(["runuser", "-u", "postgres", "--"] if root else []), "bash", "-c", line], cwd=folder)

    try:
        if shell(start).returncode:
            pytest.skip("PostgreSQL is here but does not start")
        yield f"postgresql://coterie@/{{}}?host={folder}"
    finally:
        shell("pg_ctl -D data -m immediate stop >/dev/null")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """An empty database on each kind of server."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'market.db'}"
    return new_database(request.getfixturevalue("postgres"))


def new_database(server):
    """The URL of a new, empty database on a server."""
    import psycopg

    name = f"market_{os.getpid()}_{next(NUMBER)}"
    with psycopg.connect(server.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.format(name)


@pytest.fixture
def store(url):
    """An open market's database."""
    opened = Store(url)
    migrate(opened)
    yield opened
    opened.close()


@pytest.fixture
def light(tmp_path):
    """An open market's database where the kind of server makes no difference."""
    opened = Store(f"sqlite:///{tmp_path / 'market.db'}")
    migrate(opened)
    yield opened
    opened.close()
