import json

import numpy as np
import pytest

import coterie.data as data
from coterie.experiments.problems import BadInputError
from coterie.experiments.reproduce import Options, partition_tables


def test_rows_stand_beside_the_sources():
    rows = partition_tables.rows(partition_tables.TABLES["6.4"], data.load("digits"), [1, 2], clients=30)
    names = [row["name"] for row in rows]
    assert len(rows) == 5 and names[1] == "Dirichlet, α 0.5" and "captioned" in names[4]
    assert rows[3]["source"] == {"entropy": 0.14, "sparsity": 8.56, "js": 0.75} and rows[4]["source"] is None
    for row in rows:
        assert 0 < row["ours"]["entropy"]["mean"] < np.log(10) and len(row["ours"]["js"]["per_seed"]) == 2
    json.dumps(rows)


def test_table_6_2_comes_near_on_fashion_mnist(capsys):
    if data.where("fashion-mnist") is None:
        pytest.skip("Fashion-MNIST is not on this machine: coterie data get fashion-mnist")
    found = partition_tables.run(Options(setting="6.2", seeds="1"))
    assert all(row["within"] for row in found["tables"]["6.2"]["rows"])
    assert "source 4.64" in capsys.readouterr().out


@pytest.mark.parametrize(("setting", "seeds"), [("6.5", None), ("6.2", "none"), ("6.2", "0"), ("6.2", "1,x")])
def test_bad_options_are_refused(setting, seeds):
    with pytest.raises(BadInputError):
        partition_tables.run(Options(setting=setting, seeds=seeds))
