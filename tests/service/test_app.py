import pytest
from fastapi.testclient import TestClient

from coterie.service.app import create_app
from coterie.service.steward import Steward
from coterie.testing.toy import Toy
from tests.service.small import GROUND, small


class Asking:
    """A client of the API for each party."""

    def __init__(self, market, app):
        self.market, self.web = market, TestClient(app)

    def __call__(self, who, method, path, json=None, status=None):
        headers = {"Authorization": f"Bearer {self.market.keys[who.id]}"} if who else {}
        answer = self.web.request(method, f"/api{path}", json=json, headers=headers)
        if status is not None:
            assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None


@pytest.fixture
def asking(store):
    market = small(store, money=0)
    return Asking(market, create_app(store, Steward(store, lambda settings: Toy(3), automatic=False)))


TASK = {"title": "Digits", "ground": GROUND, "quotas": [100, 0], "reserve_price": 50, "budget": 70, "cap": 200, "rounds": 2}


def test_the_whole_story_over_http(asking):
    """A task from publication to settlement and an appeal, each step by the one whose step it is."""
    market, ask = asking.market, asking
    network, owner, (first, second, third) = market.network, market.owner, market.clients
    money = {"amount": 500, "key": "transfer-1"}
    assert ask(network, "POST", f"/parties/{owner.id}/deposits", money, 201)["balance"] == 500
    assert ask(network, "POST", f"/parties/{owner.id}/deposits", money, 201)["balance"] == 500
    assert "another transfer" in ask(network, "POST", f"/parties/{owner.id}/deposits", {**money, "amount": 5}, 409)["detail"]
    task = ask(owner, "POST", "/tasks", TASK, 201)["id"]
    assert ask(first, "GET", "/tasks") == []
    assert ask(owner, "POST", f"/tasks/{task}/open", status=200)["status"] == "open"
    assert [one["id"] for one in ask(first, "GET", "/tasks")] == [task]
    for client, price in ((first, 10), (second, 20), (third, 30)):
        ask(client, "PUT", f"/tasks/{task}/bid", {"price": price}, 200)
    assert ask(third, "GET", f"/tasks/{task}/bid")["price"] == 30
    assert ask(network, "GET", f"/tasks/{task}/bids", status=409)
    assert ask(owner, "POST", f"/tasks/{task}/close", status=200)["bidders"] == 3
    assert ask(network, "POST", f"/tasks/{task}/auction", status=200)["winners"] == 2
    ask(network, "POST", f"/tasks/{task}/train", status=200)
    asking.web.app.state.steward.once()
    assert ask(owner, "GET", f"/tasks/{task}")["status"] == "settled"
    assert [one["round"] for one in ask(owner, "GET", f"/tasks/{task}/rounds")] == [1, 2]
    cohort = ask(owner, "GET", f"/tasks/{task}/cohort", status=200)
    assert (cohort["paid"], cohort["commission"], cohort["held"], cohort["unmet"]) == (60, 3, [120, 0], {})
    won = ask(first, "GET", f"/tasks/{task}/explanations/{first.id}", status=200)
    assert (won["won"], won["payment"], won["critical"], won["rank"]) == (True, 30, 30, 1)
    lost = ask(third, "GET", f"/tasks/{task}/explanations/{third.id}", status=200)
    assert (lost["verdict"], lost["won"]) == ("came after all quotas were met", False)
    ask(third, "GET", f"/tasks/{task}/explanations/{first.id}", status=403)
    assert ask(first, "GET", f"/parties/{first.id}/account")["balance"] == 30
    assert ask(first, "GET", f"/parties/{first.id}/reputation")["value"] == pytest.approx(0.04, abs=1e-4)
    appeal = ask(third, "POST", "/appeals", {"about": "valuation", "number": task, "words": "I hold 90"}, 201)["id"]
    ask(network, "POST", f"/appeals/{appeal}/ruling", {"granted": True, "reason": "counted again", "counts": [90, 0]}, 201)
    assert ask(third, "GET", "/appeals")[0]["granted"] is True
    assert ask(third, "GET", f"/parties/{third.id}/data")[0]["counts"] == [90, 0]
    assert ask(network, "GET", "/verification") == {"holds": True, "problems": []}
    assert sum(ask(network, "GET", "/accounts").values()) == 0


def test_keys_are_needed_kept_as_hashes_and_can_be_revoked(asking):
    ask, owner = asking, asking.market.owner
    ask(None, "GET", "/me", status=401)
    made = ask(owner, "POST", f"/parties/{owner.id}/keys", {"label": "laptop"}, 201)
    asking.market.keys[owner.id] = made["key"]
    assert ask(owner, "GET", "/me", status=200)["name"] == "Ann"
    ask(owner, "DELETE", f"/keys/{made['id']}", status=204)
    ask(owner, "GET", "/me", status=401)
    with asking.market.store.read() as connection:
        for table in ("keys", "audit_log"):
            rows = connection.exec_driver_sql(f"SELECT * FROM {table}").all()
            assert made["key"] not in str(rows)
    assert asking.market.problems() == []


@pytest.mark.parametrize(
    ("partition", "message"),
    [
        ({"scheme": "magic"}, "one of"),
        ({"alpha": 0.5}, "scheme must be one of"),
        ({"scheme": "dirichlet", "alpha": -1}, "alpha"),
        ({"scheme": "iid", "colour": "red"}, "colour"),
    ],
)
def test_a_ground_that_cannot_be_is_refused(asking, partition, message):
    settings = {"dataset": "digits", "clients": 4, "classes": 10, "partition": partition}
    said = asking(asking.market.network, "POST", "/grounds", {"name": "there", "settings": settings}, 422)
    assert message in said["detail"]
    made = {**settings, "partition": {"scheme": "dirichlet", "alpha": 0.5}}
    asking(asking.market.network, "POST", "/grounds", {"name": "there", "settings": made}, 201)
    assert asking(asking.market.owner, "GET", "/grounds")[-1]["settings"]["partition"] == made["partition"]


def test_a_method_that_a_path_does_not_know_is_told_which_it_does(asking):
    answer = asking.web.patch("/api/tasks/1/bid")
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "DELETE, GET, PUT"
