import io
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie.data as data


@pytest.fixture(scope="module")
def partition():
    return data.two_level(3).split(data.load("digits"), 12, 5)


@given(st.lists(st.integers(-1, 6), max_size=50))
def test_it_holds_what_its_holders_say(holder):
    partition = data.Partition.of(holder, 7, "by hand")
    for client in range(7):
        assert partition[client].tolist() == [i for i, one in enumerate(holder) if one == client]
    assert partition.sizes.sum() == sum(one >= 0 for one in holder)


@pytest.mark.parametrize(
    ("order", "offsets"),
    [([0, 0], [0, 1, 2]), ([0, -1], [0, 2]), ([0, 1], [0, 1]), ([0, 1], [1, 2]), ([0, 1, 2], [0, 2, 1, 3]), ([], [])],
)
def test_what_is_no_partition_is_refused(order, offsets):
    with pytest.raises(ValueError, match="partition"):
        data.Partition(np.array(order, dtype=np.int64), np.array(offsets, dtype=np.int64), "by hand")


@pytest.mark.parametrize("holder", [[0, 2], [-2, 1]])
def test_holders_that_are_no_clients_are_refused(holder):
    with pytest.raises(ValueError, match="holders must be"):
        data.Partition.of(holder, 2, "by hand")


def test_clients_are_counted_from_zero(partition):
    with pytest.raises(IndexError, match="client 12 is not among 0 … 11"):
        partition[12]
    assert sum(len(held) for held in partition) == len(partition.order)


def test_another_dataset_is_refused(partition):
    digits = data.load("digits")
    partition.check(digits)
    other = data.Dataset.of("digits", digits.x[::-1], digits.y, digits.x_test, digits.y_test)
    with pytest.raises(ValueError, match="made of other data"):
        partition.check(other)
    with pytest.raises(ValueError, match="names sample 1437, but 'short' has 10"):
        data.Partition(partition.order, partition.offsets, "by hand").check(
            data.Dataset.of("short", digits.x[:10], digits.y[:10], digits.x_test, digits.y_test)
        )


def test_a_file_is_written_whole_or_not_at_all(partition, tmp_path, monkeypatch):
    target = tmp_path / "p.npz"
    partition.save(target)
    before = target.read_bytes()

    def breaks(file, **arrays):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", breaks)
    with pytest.raises(OSError, match="disk full"):
        partition.save(target)
    assert target.read_bytes() == before and [path.name for path in tmp_path.iterdir()] == ["p.npz"]


@given(place=st.floats(0, 1), kind=st.sampled_from(["cut", "flip", "empty", "noise"]), seed=st.integers(0, 10**6))
@settings(max_examples=120, deadline=None)
def test_broken_files_are_refused_in_plain_words(partition, tmp_path_factory, place, kind, seed):
    path = tmp_path_factory.mktemp("broken") / "p.npz"
    partition.save(path)
    content = bytearray(path.read_bytes())
    at = min(int(place * len(content)), len(content) - 1)
    if kind == "cut":
        content = content[:at]
    elif kind == "empty":
        content = bytearray()
    elif kind == "noise":
        content = bytearray(np.random.default_rng(seed).bytes(500))
    else:
        content[at] ^= 1 << seed % 8
    path.write_bytes(content)
    try:
        again = data.Partition.load(path)
    except ValueError as error:
        assert "this is no partition file" in str(error)
    else:
        assert np.array_equal(again.order, partition.order), "a flip that the archive's checksums do not cover"


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"order": np.arange(3)},
        {"order": np.arange(3.0), "offsets": np.array([0, 3]), "about": np.array("{}")},
        {"order": np.arange(3), "offsets": np.array([0, 3]), "about": np.array("{}")},
        {"order": np.arange(3), "offsets": np.array([0, 3]), "about": np.array("not json")},
        {"order": np.arange(4).reshape(2, 2), "offsets": np.array([0, 4]), "about": np.array("{}")},
        {"order": np.array([[1], None], dtype=object), "offsets": np.array([0, 1]), "about": np.array("{}")},
    ],
)
def test_files_with_other_content_are_refused(arrays, tmp_path):
    path = tmp_path / "p.npz"
    with path.open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(ValueError, match="no partition file"):
        data.Partition.load(path)


def test_a_huge_array_in_a_header_is_refused(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<i8", "fortran_order": False, "shape": (10**15,)})
    path = tmp_path / "p.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("order.npy", header.getvalue())
        archive.writestr("offsets.npy", header.getvalue())
        archive.writestr("about.npy", header.getvalue())
    with pytest.raises(ValueError, match="no partition file"):
        data.Partition.load(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError):
        data.Partition.load(tmp_path / "none.npz")
