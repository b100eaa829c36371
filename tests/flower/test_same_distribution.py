"""Where flwr-datasets has a scheme too, ours draws from the same distribution."""

import numpy as np
import pytest

import coterie.data as data

pytest.importorskip("flwr_datasets", reason="flwr-datasets is not installed: pip install 'coterie[flower]'")
from benchmarks import partition as bench

SLACK = {"linear": 0.03, "square": 0.03}
"""Flower gives its last client what rounding left; ours are within one sample of the promised sizes."""


@pytest.fixture(scope="module")
def toy():
    y = np.random.default_rng(0).integers(10, size=4000)
    return data.Dataset.of("toy", np.zeros((4000, 1)), y, np.zeros((1, 1)), y[:1], classes=10)


@pytest.mark.parametrize("name", sorted(bench.pairs()))
def test_measures_agree_within_their_errors(name, toy):
    found = bench.beside(name, toy, 20, seeds=12)
    for key in bench.MEASURES:
        row = found[key]
        assert abs(row["ours"] - row["flower"]) <= 4 * row["error"] + SLACK.get(name, 0.01) * max(row["flower"], 0.1), (
            key,
            row,
        )


def test_sizes_that_are_promised_are_the_same(toy):
    for name in ("linear", "square"):
        ours, make = bench.pairs()[name]
        theirs, _ = bench.by_flower(make, bench.table_of(toy, 1), 20, 1)
        assert np.abs(ours.split(toy, 20, 1).sizes - theirs.sizes)[:-1].max() <= 1
