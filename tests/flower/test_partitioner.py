import numpy as np
import pytest

import coterie.data as data

pytest.importorskip("flwr_datasets", reason="flwr-datasets is not installed: pip install 'coterie[flower]'")
from coterie.flower import partitioner as ours

SETTINGS = {"two-level": {"clusters": 4, "min_size": 2}, "exponential": {"min_size": 2}}


@pytest.fixture(scope="module")
def table():
    from datasets import Dataset

    digits = data.load("digits")
    return Dataset.from_dict(
        {"x": digits.x.tolist(), "label": digits.y.tolist(), "writer": (np.arange(len(digits)) % 8).tolist()}
    )


def test_there_is_one_for_every_scheme():
    assert set(ours.PARTITIONERS) == set(data.SCHEMES)


@pytest.mark.parametrize("name", sorted(data.SCHEMES))
def test_a_partitioner_parts_as_its_scheme_does(name, table):
    owners = {"owners": "writer"} if name == "natural" else {}
    parts = ours.PARTITIONERS[name](8, seed=3, **owners, **SETTINGS.get(name, {}))
    parts.dataset = table
    digits = data.load("digits")
    known = data.Dataset.of(
        "known", digits.x, digits.y, digits.x[:1], digits.y[:1], classes=10, owners=np.arange(len(digits)) % 8
    )
    expected = data.SCHEMES[name](**SETTINGS.get(name, {})).split(known, 8, 3)
    assert parts.num_partitions == 8
    for client in range(8):
        assert parts.load_partition(client)["label"][:] == known.y[expected[client]].tolist()


def test_it_works_in_a_federated_dataset_and_in_flowers_plot(table, tmp_path):
    import matplotlib as mpl
    from flwr_datasets import FederatedDataset
    from flwr_datasets.visualization import plot_label_distributions

    mpl.use("Agg")
    table.to_parquet(tmp_path / "train.parquet")
    files = {"train": str(tmp_path / "train.parquet")}
    parts = ours.TwoLevelPartitioner(10, clusters=4, alpha=0.5, beta=0.1, min_size=3)
    federated = FederatedDataset(
        dataset="parquet", partitioners={"train": parts}, data_files=files, cache_dir=str(tmp_path / "cache")
    )
    assert sum(len(federated.load_partition(client)) for client in range(10)) == len(table)
    figure, _, frame = plot_label_distributions(parts, label_name="label", legend=True)
    figure.savefig(tmp_path / "labels.png")
    assert frame.to_numpy().sum() == len(table)


def test_a_saved_partition_is_the_same_federation(table, tmp_path):
    partition = data.two_level(clusters=4, min_size=2).split(data.load("digits"), 6, 1)
    partition.save(tmp_path / "partition.npz")
    parts = ours.SavedPartitioner(tmp_path / "partition.npz")
    parts.dataset = table
    assert parts.num_partitions == 6
    assert parts.load_partition(4)["label"][:] == data.load("digits").y[partition[4]].tolist()


def test_a_saved_partition_refuses_a_shorter_table(table, tmp_path):
    data.iid().split(data.load("digits"), 6, 1).save(tmp_path / "partition.npz")
    parts = ours.SavedPartitioner(tmp_path / "partition.npz")
    parts.dataset = table.select(range(100))
    with pytest.raises(ValueError, match="the table has 100"):
        parts.load_partition(0)


def test_a_saved_partition_refuses_a_shuffled_table(table, tmp_path):
    from flwr_datasets import FederatedDataset

    data.iid().split(data.load("digits"), 6, 1).save(tmp_path / "partition.npz")
    table.to_parquet(tmp_path / "train.parquet")
    files = {"train": str(tmp_path / "train.parquet")}
    told = {"dataset": "parquet", "data_files": files, "cache_dir": str(tmp_path / "cache")}
    held = {}
    for shuffle in (True, False):
        parts = {"train": ours.SavedPartitioner(tmp_path / "partition.npz")}
        federated = FederatedDataset(partitioners=parts, shuffle=shuffle, **told)
        try:
            held[shuffle] = federated.load_partition(4)["label"][:]
        except ValueError as error:
            held[shuffle] = str(error)
    assert "shuffle=False" in held[True]
    assert held[False] == data.load("digits").y[parts["train"].partition[4]].tolist()


def test_a_column_that_is_not_there_is_named(table):
    parts = ours.IidPartitioner(4, partition_by="class")
    parts.dataset = table
    with pytest.raises(ValueError, match="no column 'class'; there are x, label, writer"):
        parts.load_partition(0)
