"""Both databases: SQLite in a file, and a PostgreSQL started from its binaries for the session."""

import os
from contextlib import ExitStack
from itertools import count

import pytest

from coterie.service.migrations import migrate
from coterie.service.store import Store
from tests.service.postgres import Missing, started
from tests.service.postgres import new_database as created

NUMBER = count()


@pytest.fixture(scope="session")
def postgres():
    """The URL of an empty PostgreSQL server, stopped and removed afterwards."""
    with ExitStack() as stack:
        try:
            server = stack.enter_context(started())
        except Missing as missing:
            pytest.skip(str(missing))
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """An empty database on each kind of server."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'market.db'}"
    return new_database(request.getfixturevalue("postgres"))


def new_database(server):
    """The URL of a new, empty database on a server."""
    return created(server, f"market_{os.getpid()}_{next(NUMBER)}")


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
