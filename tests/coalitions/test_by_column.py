import pytest

from coterie.coalitions import ByColumn
from coterie.testing import Toy


def test_equal_values_are_together():
    toy = Toy(clients=4)
    toy.roster = toy.roster.with_columns(region=["south", "north", "south", "east"])
    assert ByColumn("region").form(toy.view(1), None).labels.tolist() == [2, 1, 2, 0]


def test_names_the_columns_that_there_are():
    with pytest.raises(KeyError, match="nothing is known as 'region'; known: bandwidth, cpu, latency, ram, size, speed"):
        ByColumn("region").form(Toy(clients=2).view(1), None)
