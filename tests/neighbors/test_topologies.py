import networkx as nx
import numpy as np
import pytest

from coterie.neighbors import Gossip
from coterie.neighbors.topologies import NAMES, graph
from coterie.testing import Toy


def drawn(topology, clients, seed=1):
    return nx.from_scipy_sparse_array(graph(topology, clients, seed).matrix())


@pytest.mark.parametrize("clients", [0, 1, 2, 3, 5, 12, 37])
@pytest.mark.parametrize("topology", NAMES)
def test_links_go_both_ways_and_hold_everybody_together(topology, clients):
    matrix = graph(topology, clients, 3).matrix().toarray()
    assert np.array_equal(matrix, matrix.T) and not matrix.diagonal().any()
    assert clients < 2 or nx.is_connected(drawn(topology, clients))


def test_each_is_linked_as_its_name_says():
    degrees = {name: [d for _, d in drawn(name, 100).degree] for name in ("full", "half", "regular:10", "ring")}
    assert {name: set(found) for name, found in degrees.items()} == {
        "full": {99},
        "half": {50},
        "regular:10": {10},
        "ring": {2},
    }
    assert nx.is_isomorphic(drawn("grid", 12), nx.grid_2d_graph(3, 4))
    assert np.mean([d for _, d in drawn("small-world:6:0.2", 50).degree]) == 6
    assert nx.is_isomorphic(drawn("small-world:4:0", 20), nx.circulant_graph(20, [1, 2]))


def test_pairs_are_links():
    assert sorted(drawn(((0, 2), (2, 1), (1, 1)), 4).edges) == [(0, 2), (1, 2)]


def test_a_seed_is_a_graph():
    assert not np.array_equal(graph("half", 20, 1).cols, graph("half", 20, 2).cols)
    graph.cache_clear()
    first = graph("half", 20, 1).cols
    graph.cache_clear()
    assert np.array_equal(graph("half", 20, 1).cols, first)


def test_nobody_hears_whom_it_is_not_linked_to():
    toy = Toy(clients=9, seed=1)
    heard = Gossip(peers=5, topology="ring").listen(toy.view(1), None).toarray()
    ring = graph("ring", 9, 1).matrix().toarray()
    assert np.array_equal(heard, ring | np.eye(9, dtype=bool))


@pytest.mark.parametrize("wrong", ["star", "ring:3", "regular:0", "regular:many", "small-world:4:2", "half:half"])
def test_refuses_what_is_no_graph(wrong):
    with pytest.raises(ValueError, match="topology: must be one of full, half"):
        Gossip(topology=wrong)


def test_refuses_links_to_nobody():
    with pytest.raises(ValueError, match="it links client 7; there are 5"):
        graph(((0, 7),), 5, 0)
