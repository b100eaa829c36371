"""The diff that the docs show turns an app with FedAvg into one in which FedCor chooses."""

import importlib
import re
import shutil
import sys

import pytest

pytest.importorskip("flwr", reason="needs the extra coterie[flower]")

from flwr.common import Context, RecordDict

from tests import pages
from tests.flower.near import Near

PAGE = pages.HOME / "docs" / "how-to" / "flower-two-lines.md"
APP = pages.HOME / "examples" / "flower-fedavg"
NODES = 10


def patch(diff, folder):
    """Applies a diff without line numbers: each piece of old text must be there once."""
    (_, *files) = re.split(r"^--- .*\n\+\+\+ (?=.*\n)", diff, flags=re.MULTILINE)
    for part in files:
        name, *pieces = re.split(r"^@@\n", part, flags=re.MULTILINE)
        path = folder / name.strip()
        for piece in pieces:
            old, new = ("".join(line[1:] for line in piece.splitlines(True) if line[0] in signs) for signs in (" -", " +"))
            text = path.read_text()
            assert text.count(old) == 1, f"{path.name}: these lines are not there once:\n{old}"
            path.write_text(text.replace(old, new))


@pytest.fixture
def play(tmp_path, monkeypatch, capsys):
    """Runs an app on ten nodes; returns its accuracies and the nodes that trained in each round."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def run(rounds):
        for name in [name for name in sys.modules if name.partition(".")[0] == "fedavg_digits"]:
            monkeypatch.delitem(sys.modules, name)
        server, client = (importlib.import_module(f"fedavg_digits.{side}_app") for side in ("server", "client"))
        near = Near(client.app, {7919 * (k + 3) % 1009: {"partition-id": k, "num-partitions": NODES} for k in range(NODES)})
        context = Context(run_id=1, node_id=0, node_config={}, state=RecordDict(), run_config={"rounds": rounds})
        server.app(grid=near, context=context)
        said = [float(text) for text in re.findall(r"accuracy ([\d.]+)", capsys.readouterr().out)]
        return said, [message.metadata.dst_node_id for message in near.kinds("train")]

    shutil.copytree(APP / "fedavg_digits", tmp_path / "fedavg_digits", ignore=shutil.ignore_patterns("__pycache__"))
    return run


def test_the_diff_makes_fedcor_choose(play, tmp_path, monkeypatch):
    monkeypatch.setattr("coterie.flower.nodes.SETTLED", 0.1)
    before, everybody = play(3)
    assert len(everybody) == 3 * NODES and before[-1] > before[0]
    (diff,) = [block.body for block in pages.blocks(PAGE.read_text()) if block.language == "diff"]
    for side in ("server_app", "client_app"):
        lines = [
            line for line in diff.split(side)[2].partition("\n---")[0].splitlines() if line.startswith("+") and line != "+"
        ]
        assert len(lines) == 2, f"{side}: {lines}"
    patch(diff, tmp_path)
    after, chosen = play(15)
    assert len(chosen) < 15 * NODES
    assert after[-1] > before[0] + 0.3
    again, others = play(15)
    assert again == after and sorted(others) == sorted(chosen)
