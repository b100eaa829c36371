"""A PostgreSQL of one's own, started from its binaries, for tests and benchmarks."""

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

BINARIES = ("initdb", "pg_ctl")


class Missing(Exception):  # noqa: N818 - it says what is missing
    """There is none to start here, and why."""


@contextmanager
def started(durable=False):
    """The URL of an empty server, with {} for the database; stopped and removed afterwards.

    One that is not durable forgets on a power cut what it said it had, which makes tests quicker: they cut no power.
    PostgreSQL does not run as root, so root starts it as the user postgres.
    """
    if not all(map(shutil.which, BINARIES)):
        raise Missing("PostgreSQL is not here (initdb and pg_ctl on PATH), so only SQLite is tested")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if root and not shutil.which("runuser"):
        raise Missing("PostgreSQL does not run as root, and there is no runuser to change to the user postgres")
    folder = Path(tempfile.mkdtemp(prefix="coterie-pg-"))
    if root:
        shutil.chown(folder, "postgres")
    options = f"-c listen_addresses= -c fsync={'on' if durable else 'off'} -k '{folder}'"
    start = (
        f'initdb -D data -A trust -U coterie --no-sync >/dev/null && pg_ctl -D data -w -l log -o "{options}" start >/dev/null'
    )

    def shell(line):
        return subprocess.run([*(["runuser", "-u", "postgres", "--"] if root else []), "bash", "-c", line], cwd=folder)

    try:
        if shell(start).returncode:
            raise Missing("PostgreSQL is here but does not start")
        yield f"postgresql://coterie@/{{}}?host={folder}"
    finally:
        shell("pg_ctl -D data -m immediate stop >/dev/null")
        shutil.rmtree(folder, ignore_errors=True)


def new_database(server, name):
    """The URL of a new, empty database on a server."""
    import psycopg

    with psycopg.connect(server.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.format(name)
