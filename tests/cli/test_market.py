import json
import sqlite3

import pytest

from coterie.cli import main


@pytest.mark.parametrize("command", ["serve", "demo", "verify", "key", "clear"])
def test_every_command_has_help_with_examples(command, capsys):
    assert main(["market", command, "--help"]) == 0
    assert f"coterie market {command}" in capsys.readouterr().out


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The database of a demo, and what it said."""
    folder = tmp_path_factory.mktemp("market")
    url = f"sqlite:///{folder / 'demo.db'}"
    assert main(["market", "demo", "--db", url, "--json", str(folder / "out.json")]) == 0
    return folder / "demo.db", url, json.loads((folder / "out.json").read_text())


def test_the_demo_runs_a_task_to_its_settlement(played):
    _, _, said = played
    assert said["status"] == "settled"
    assert said["winners"] > 1
    assert said["paid"] > 0
    assert said["ledger_sum"] == 0
    assert said["audit_entries"] > 100


def test_verify_finds_what_was_changed(played, capsys):
    file, url, _ = played
    assert main(["market", "verify", "--db", url, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out) == {"holds": True, "problems": []}
    with sqlite3.connect(file) as connection:
        before = connection.execute("SELECT max(payment) FROM decisions").fetchone()
        connection.execute("UPDATE decisions SET payment = payment + 1 WHERE payment = ?", before)
    assert main(["market", "verify", "--db", url]) == 1
    assert "decisions: rows of entry" in capsys.readouterr().out


def test_a_lost_key_is_made_anew(played, capsys):
    from coterie.service import keys
    from coterie.service.store import Store

    _, url, _ = played
    assert main(["market", "key", "Commons Network", "--db", url]) == 0
    made = capsys.readouterr().out.strip()
    with Store(url).read() as connection:
        assert keys.whose(connection, made).role == "network"
    assert main(["market", "key", "Mallory", "--db", url]) == 2
    assert "there is no party 'Mallory'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nothing", "Allowed: sqlite:///FILE"),
        ("mysql://x/y", "Allowed: sqlite:///FILE"),
        ("sqlite://", "in memory"),
        ("sqlite:////no/such/folder/market.db", "there is no folder"),
        ("sqlite:///not-there.db", "there is no market"),
        ("postgresql://nobody@/none?host=/no/such/folder", "cannot be opened"),
    ],
)
def test_a_database_that_cannot_be_is_refused(url, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(["market", "verify", "--db", url]) == 2
    assert message in capsys.readouterr().err


def test_an_auction_is_cleared_from_a_file(tmp_path, capsys):
    file = tmp_path / "auction.json"
    file.write_text(
        json.dumps(
            {
                "task": {"quotas": [100], "budget": 70, "reserve_price": 50},
                "bids": {"prices": [10, 20, 30], "counts": [[60], [60], [60]]},
            }
        )
    )
    assert main(["market", "clear", str(file), "--json", "-"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["winners"], said["payments"], said["unmet"], said["standby"]) == ([0, 1], [30, 30], {}, [2])
    assert main(["market", "clear", str(file), "--mechanism", "proportional-share"]) == 0
    assert "winners are paid" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "JSON"),
        ("[]", "must hold"),
        ('{"task": {}, "bids": {}}', "quotas"),
        ('{"task": {"quotas": [1], "reserve_price": -1}, "bids": {"prices": [], "counts": []}}', "reserve_price"),
        ('{"task": {"quotas": [1], "reserve_price": 1}, "bids": {"prices": [1], "counts": [[1, 2]]}}', "2 classes"),
    ],
)
def test_an_auction_that_is_none_is_refused(tmp_path, capsys, text, message):
    file = tmp_path / "auction.json"
    file.write_text(text)
    assert main(["market", "clear", str(file)]) == 2
    assert message in capsys.readouterr().err
