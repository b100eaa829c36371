"""The ready project plays what its own configuration says, on nodes in this process."""

import importlib
import re
import tomllib

import pytest

pytest.importorskip("flwr", reason="needs the extra coterie[flower]")

from flwr.common import Context, RecordDict

from tests import pages
from tests.flower.near import Near

APP = pages.HOME / "examples" / "flower"
CONFIG = tomllib.loads((APP / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]


@pytest.mark.parametrize("method", [CONFIG["method"], "power-of-choice"])
def test_it_plays_any_method_and_tells_of_each_round(method, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(APP))
    monkeypatch.setattr("coterie.flower.nodes.SETTLED", 0.1)
    server, client = (importlib.import_module(f"coterie_digits.{side}_app") for side in ("server", "client"))
    near = Near(client.app, {7919 * (k + 3) % 1009: {"partition-id": k, "num-partitions": 6} for k in range(6)})
    asked = {**CONFIG, "method": method, "rounds": 4}
    server.app(grid=near, context=Context(run_id=1, node_id=0, node_config={}, state=RecordDict(), run_config=asked))
    said = capsys.readouterr().out
    assert "6 clients: 0, 1, 2, 3, 4, 5" in said
    told = re.findall(r"^round (\d): accuracy ([\d.]+), used ([\d, ]+); lost nobody$", said, re.MULTILINE)
    assert [int(t) for t, _, _ in told] == [1, 2, 3, 4]
    assert {len(used.split(", ")) for _, _, used in told} == {3}
    assert float(told[-1][1]) > float(told[0][1])
