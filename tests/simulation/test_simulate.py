import gc
import tracemalloc

import numpy as np
import pytest

import coterie
from coterie.aggregators import BySize, Mean
from coterie.backbones import SGD
from coterie.data import Partition, iid
from coterie.federation import Steps
from coterie.neighbors import Gossip
from coterie.recipe import Central, Peers, play
from coterie.selectors import Uniform
from tests.simulation.small import blobs, parted, same, small


def test_the_example_of_the_documentation_runs():
    with coterie.simulate("digits", partition=coterie.data.shards(2), clients=20, seed=1, workers=1) as federation:
        recipe = Central(SGD(Steps(epochs=5, lr=0.1, batch_size=10)), BySize(), Uniform(10))
        accuracies = [record.accuracy for record in play(recipe, federation, rounds=15)]
    assert max(accuracies) > 0.5
    assert federation.roster.keys[:3] == ("0", "1", "2")


def test_a_partition_may_be_a_scheme_a_partition_or_a_file(tmp_path):
    dataset = blobs()
    partition = iid().split(dataset, 5, seed=3)
    partition.save(tmp_path / "five.npz")
    ways = [iid(), partition, tmp_path / "five.npz", str(tmp_path / "five.npz")]
    states = [coterie.simulate(dataset, partition=way, clients=5, seed=3, workers=1) for way in ways]
    for other in states[1:]:
        assert same(states[0].state(), other.state())
        np.testing.assert_array_equal(states[0].clients.x, other.clients.x)


def test_a_partition_of_other_data_is_refused():
    with pytest.raises(ValueError, match="made of other data"):
        coterie.simulate(blobs(seed=1), partition=parted(blobs(seed=2), [10, 10]))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"dataset": "digit"}, "digits"),
        ({"partition": 7}, "partition: must be a scheme"),
        ({"clients": 0}, "clients: must be"),
        ({"clients": 1000}, "1000 clients cannot share"),
        ({"holdout": 1.0}, "holdout: must be"),
        ({"test": "mine"}, "test: must be"),
        ({"test_fraction": -0.1}, "test_fraction: must be"),
        ({"client_test_size": 0}, "client_test_size: must be"),
        ({"evaluate_every": 0}, "evaluate_every: must be"),
        ({"evaluate_every": 1.5}, "evaluate_every: must be"),
        ({"workers": 0}, "workers: must be"),
        ({"model": "resnet"}, "model: must be one of"),
        ({"seed": 1.5}, "seed: must be"),
        ({"world": {"availability": 0.5}}, "world: must be a World"),
    ],
)
def test_bad_settings_are_refused_by_name(wrong, says):
    settings = {"dataset": blobs(), "partition": iid(), "clients": 5, **wrong}
    with pytest.raises(ValueError, match=says):
        coterie.simulate(settings.pop("dataset"), **settings)


def test_splits_never_overlap_and_lose_nothing():
    federation = small(test="own", holdout=0.3)
    clients = federation.clients
    for k, size in enumerate((30, 20, 40, 10, 30, 25)):
        parts = [clients.samples(k, split)[0] for split in ("train", "holdout", "test")]
        rows = np.concatenate(parts)
        assert len(rows) == size == len(np.unique(rows, axis=0))
        assert min(map(len, parts)) > 0
        assert np.shares_memory(parts[0], clients.x)


def test_another_seed_is_another_federation():
    one, other = small(seed=1), small(seed=2)
    assert not np.array_equal(one.models, other.models)
    assert not np.array_equal(one.roster["speed"], other.roster["speed"])


def test_memory_does_not_grow_from_round_to_round():
    """Six models of 403 numbers are 10 kB: kept once a round they would make 2 MB."""
    sizes = []
    tracemalloc.start()
    try:
        for record in play(Peers(SGD(Steps(epochs=1)), Mean(), Gossip(2)), small(model="mlp:50"), 300):
            if record.round in (100, 300):
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert sizes[1] - sizes[0] < 50_000


def test_a_partition_brings_its_own_number_of_clients():
    partition = Partition.of([0, 1, 2, 0, 1, 2], 3, "by hand")
    federation = coterie.simulate(blobs(), partition=partition, clients=100, workers=1)
    assert len(federation.roster) == 3
