"""Who may do what over HTTP, for every operation of the contract; and requests of all kinds, sensible or not.

COTERIE_DOOR_REQUESTS says how many requests are made up: some hundreds unless said otherwise, 10,000 in `make test-market`.
"""

import os
from dataclasses import dataclass

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from coterie.service import appeals, audit_log, bidding, books, keys, lifecycle, parties, rights
from coterie.service.app import create_app
from coterie.service.refusals import Conflict
from coterie.service.steward import Steward
from coterie.service.tables import metadata
from tests.service.small import GROUND, small

REQUESTS = int(os.environ.get("COTERIE_DOOR_REQUESTS", "150"))
EVERYBODY = {"network", "ann", "bob", "c0", "c1", "c2"}
CALLERS = [*sorted(EVERYBODY), "nobody", "revoked"]


class Idle(Steward):
    """Does nothing by itself, so that all that changes was asked for."""

    def start(self, every=0.5):
        pass

    def stop(self):
        pass


@dataclass
class Door:
    """A market with something of everything in it, and how to knock."""

    store: object
    app: object
    web: TestClient
    keys: dict
    ids: dict
    rows: dict

    def knock(self, caller, method, path, body=None):
        headers = {} if caller == "nobody" else {"Authorization": f"Bearer {self.keys[caller]}"}
        return self.web.request(method, path.format(**self.ids), json=body, headers=headers)

    def state(self):
        """All that is in the database."""
        with self.store.read() as connection:
            return {table.name: connection.execute(select(table).order_by(*table.primary_key)).all() for table in self.rows}

    def put_back(self):
        with self.store.engine.connect().execution_options(writes=True) as connection, connection.begin():
            for table, rows in self.rows.items():
                connection.execute(table.delete())
                if rows:
                    connection.execute(table.insert(), rows)


@pytest.fixture
def door(light):
    """Tasks of Ann's at every step; the third client wins nothing and bids nowhere else."""
    market = small(light, money=5000)
    c0, c1, c2 = market.clients
    bob, bob_key = market.do(market.network, parties.admit, "Bob", "owner")
    ids = {"ann": market.owner.id, "bob": bob.id, "c0": c0.id, "c1": c1.id, "c2": c2.id, "network": market.network.id}
    ids["settled"] = market.settled(kinds=["dishonest", "honest"])
    ids["draft"] = market.publish()
    ids["open"] = market.opened()
    for client in (c0, c1):
        market.do(client, bidding.bid, ids["open"], 20)
    ids["closed"] = market.opened()
    market.do(c0, bidding.bid, ids["closed"], 10)
    market.do(c1, bidding.bid, ids["closed"], 10)
    market.do(market.owner, lifecycle.close, ids["closed"])
    ids["auctioned"] = market.auctioned()
    ids["trained"] = market.trained()
    ids["contested"] = market.do(c1, appeals.contest_valuation, ids["settled"], "I hold more")
    market.do(market.network, books.pay_in, c0.id, 100, "for c0")
    with light.read() as connection:
        ids["c0_key"] = parties.keys_of(connection, c0.id)[0]["id"]
    _, revoked = light.write(0, keys.issue, market.network.id, "lost")
    with light.read() as connection:
        last = parties.keys_of(connection, market.network.id)[-1]["id"]
    market.do(market.network, parties.revoke_key, last)
    own = {name: market.keys[number] for name, number in ids.items() if number in market.keys and name in EVERYBODY}
    app = create_app(light, Idle(light))
    with light.read() as connection:
        rows = {table: [dict(row) for row in connection.execute(select(table)).mappings()] for table in metadata.sorted_tables}
    made = Door(
        light, app, TestClient(app, raise_server_exceptions=False), {**own, "bob": bob_key, "revoked": revoked}, ids, rows
    )
    assert market.problems() == []
    return made


TASK = {"title": "Digits", "ground": GROUND, "quotas": [100, 0], "reserve_price": 50}
SETTINGS = {"dataset": "digits", "partition": {"scheme": "iid"}, "clients": 4, "classes": 10}
WHY = {"reason": "no more"}
MONEY = {"amount": 10, "key": "k"}
DATA = {"ground": GROUND, "member": "m", "counts": [1, 2], "reason": "counted"}
APPEAL = {"about": "penalty", "number": 2, "words": "I was there"}
OWNERS, CLIENTS, MINE = {"ann", "bob"}, {"c0", "c1", "c2"}, {"network", "ann"}
MATRIX = [
    ("GET", "/health", None, {*EVERYBODY, "nobody", "revoked"}),
    ("GET", "/api/me", None, EVERYBODY),
    ("GET", "/api/rules", None, EVERYBODY),
    ("GET", "/api/grounds", None, EVERYBODY),
    ("POST", "/api/grounds", {"name": "there", "settings": SETTINGS}, {"network"}),
    ("GET", "/api/parties", None, {"network"}),
    ("POST", "/api/parties", {"name": "Zoe", "role": "client"}, {"network"}),
    ("GET", "/api/parties/{ann}", None, {"network", "ann"}),
    ("GET", "/api/parties/{c0}", None, {"network", "c0"}),
    ("GET", "/api/parties/{network}", None, {"network"}),
    ("GET", "/api/parties/{c0}/keys", None, {"network", "c0"}),
    ("POST", "/api/parties/{c0}/keys", {"label": "laptop"}, {"network", "c0"}),
    ("DELETE", "/api/keys/{c0_key}", None, {"network", "c0"}),
    ("GET", "/api/parties/{c0}/data", None, {"network", "c0"}),
    ("POST", "/api/parties/{c0}/data", DATA, {"network"}),
    ("GET", "/api/parties/{c0}/reputation", None, {"network", "c0"}),
    ("GET", "/api/accounts", None, {"network"}),
    ("GET", "/api/parties/{ann}/account", None, {"network", "ann"}),
    ("GET", "/api/parties/{c0}/account", None, {"network", "c0"}),
    ("POST", "/api/parties/{ann}/deposits", MONEY, {"network"}),
    ("POST", "/api/parties/{c0}/withdrawals", MONEY, {"c0"}),
    ("GET", "/api/tasks", None, EVERYBODY),
    ("POST", "/api/tasks", TASK, OWNERS),
    ("GET", "/api/tasks/{draft}", None, MINE),
    ("GET", "/api/tasks/{open}", None, EVERYBODY),
    ("POST", "/api/tasks/{draft}/open", None, {"ann"}),
    ("POST", "/api/tasks/{open}/close", None, MINE),
    ("POST", "/api/tasks/{closed}/auction", None, {"network"}),
    ("POST", "/api/tasks/{auctioned}/train", None, {"network"}),
    ("POST", "/api/tasks/{trained}/settle", None, {"network"}),
    ("POST", "/api/tasks/{draft}/cancel", WHY, MINE),
    ("POST", "/api/tasks/{open}/cancel", WHY, MINE),
    ("POST", "/api/tasks/{trained}/cancel", WHY, {"network"}),
    ("POST", "/api/tasks/{open}/fail", WHY, {"network"}),
    ("PUT", "/api/tasks/{open}/bid", {"price": 9}, CLIENTS),
    ("DELETE", "/api/tasks/{open}/bid", None, {"c0", "c1"}),
    ("GET", "/api/tasks/{open}/bid", None, {"c0", "c1"}),
    ("GET", "/api/tasks/{closed}/bids", None, {"network"}),
    ("GET", "/api/tasks/{open}/bids", None, set()),
    ("GET", "/api/tasks/{auctioned}/cohort", None, MINE),
    ("GET", "/api/tasks/{auctioned}/explanations/{c0}", None, {"network", "c0"}),
    ("GET", "/api/tasks/{draft}/rounds", None, MINE),
    ("GET", "/api/tasks/{settled}/rounds", None, EVERYBODY),
    ("GET", "/api/appeals", None, {"network", *CLIENTS}),
    ("POST", "/api/appeals", APPEAL, {"c0"}),
    ("POST", "/api/appeals", {**APPEAL, "about": "valuation", "number": 10**6}, set()),
    ("POST", "/api/appeals/{contested}/ruling", {"granted": False, "reason": "no"}, {"network"}),
    ("GET", "/api/audit", None, {"network"}),
    ("GET", "/api/verification", None, {"network"}),
]  # fmt: skip


def complaints(door):
    """What is not as the matrix says, or changed something though it was refused."""
    before = door.state()
    for method, path, body, allowed in MATRIX:
        for caller in CALLERS:
            answer = door.knock(caller, method, path, body)
            after, asked = door.state(), f"{caller}: {method} {path}"
            if answer.is_success != (caller in allowed):
                yield f"{asked} is answered {answer.status_code}: {answer.text}"
            if caller in ("nobody", "revoked") and not allowed & {"nobody"} and answer.status_code != 401:
                yield f"{asked} is answered {answer.status_code}, not 401"
            if not answer.is_success and after != before:
                yield f"{asked} is refused and changed something"
            if method == "GET" and after != before:
                yield f"{asked} changed something"
            if after != before:
                door.put_back()


def test_the_matrix_of_roles_operations_and_ownership(door):
    assert list(complaints(door)) == []


def test_the_matrix_has_every_operation_of_the_contract(door):
    known = {(method, path) for path, ways in door.app.openapi()["paths"].items() for method in map(str.upper, ways)}
    shapes = {(method, path_shape(path)) for method, path, *_ in MATRIX}
    assert shapes == {(method, path_shape(path)) for method, path in known}


def path_shape(path):
    return "/".join("{}" if part.startswith("{") else part for part in path.split("/"))


def test_the_matrix_finds_a_door_left_open(door, monkeypatch):
    monkeypatch.setattr(rights, "require", lambda who, what, whose=None: None)
    found = list(complaints(door))
    assert len(found) > 40 and any("ann: POST /api/tasks/{open}/bid" in one or "c1: GET" in one for one in found)


def test_a_refusal_that_changed_something_is_found(door, monkeypatch):
    def too_late(*_):
        raise Conflict("the money is booked, but the answer is no")

    monkeypatch.setattr("coterie.service.routes.money._moved", too_late)
    assert any("/deposits is refused and changed something" in one for one in complaints(door))


def test_requests_of_all_kinds_never_fail_and_what_is_refused_changes_nothing(door):
    """Schemathesis makes up requests from the contract, fitting ones and others, in everybody's name."""
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed: no requests are made up")
    from schemathesis.generation import GenerationMode
    from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance

    checks = [content_type_conformance, response_schema_conformance, status_code_conformance]
    schema = schemathesis.openapi.from_asgi("/openapi.json", door.app)
    operations = [one.ok() for one in schema.get_all_operations()]
    numbers = st.sampled_from(sorted(door.ids.values()))
    sent = {"requests": 0, "done": 0}

    def check(operation, mode, examples, first):
        @settings(
            max_examples=examples, deadline=None, database=None, derandomize=first, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(st.data())
        def sends(data):
            case = data.draw(operation.as_strategy(generation_mode=mode))
            if case.path_parameters and data.draw(st.booleans()):
                case.path_parameters = {name: data.draw(numbers) for name in case.path_parameters}
            caller = data.draw(st.sampled_from(["network", "network", "ann", "bob", "c0", "c1", "nobody", "revoked"]))
            headers = {} if caller == "nobody" else {"Authorization": f"Bearer {door.keys[caller]}"}
            before = head(door)
            answer = case.call(headers=headers)
            sent["requests"] += 1
            sent["done"] += answer.status_code < 300
            assert answer.status_code < 500, f"{operation.label}: {answer.status_code} {answer.text}"
            case.validate_response(answer, checks=checks)
            assert answer.status_code < 300 or head(door) == before, f"{operation.label} is refused and changed something"

        sends()

    each = -(-REQUESTS // (2 * len(operations)))
    while sent["requests"] < REQUESTS:
        before = sent["requests"]
        for operation in operations:
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                try:
                    check(operation, mode, each, before == 0)
                except BaseException as error:
                    if type(error).__name__ not in ("Unsatisfiable", "InfeasibleParameter", "SkipTest", "Skipped"):
                        raise
        assert sent["requests"] > before
    print(f"{sent['requests']} requests, {sent['done']} of them done, none failed")
    assert sent["done"] > sent["requests"] / 50
    with door.store.read() as connection:
        assert list(audit_log.problems(connection)) == []
        assert list(books.problems(connection)) == []


def head(door):
    with door.store.read() as connection:
        return audit_log.head_of(connection)
