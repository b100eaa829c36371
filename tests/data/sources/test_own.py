"""The user's own data: arrays in a file, PyTorch datasets, tables of Hugging Face."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie.data as data

GOOD = {"x": np.ones((6, 3)), "y": np.arange(6) % 2, "x_test": np.zeros((2, 3)), "y_test": np.array([0, 1])}


def saved(folder, **arrays):
    path = folder / "mine.npz"
    np.savez(path, **arrays)
    return path


def test_arrays_of_a_file(tmp_path):
    found = data.load(str(saved(tmp_path, **GOOD, owners=np.arange(6) // 2, owners_test=np.array([0, 1]))))
    assert (found.name, found.classes, found.shape) == ("mine", 2, (3,)) and found.owners.tolist() == [0, 0, 1, 1, 2, 2]
    assert data.load("mine.npz", tmp_path).fingerprint == found.fingerprint


def test_bytes_are_scaled_and_real_targets_mean_regression(tmp_path):
    pixels = np.full((6, 1, 2, 2), 255, dtype=np.uint8)
    found = data.load(
        str(saved(tmp_path, x_train=pixels, y_train=np.linspace(0, 1, 6), x_test=pixels, y_test=np.linspace(0, 1, 6)))
    )
    assert found.x.max() == 1 and found.classes == 0 and found.y.dtype == np.float32


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"y": None}, "y is missing"),
        ({"x": np.ones((5, 3))}, "5 training samples"),
        ({"x": np.full((6, 3), np.nan)}, "NaN or infinite"),
        ({"x_test": np.array([[np.inf] * 3] * 2)}, "NaN or infinite"),
        ({"x_test": np.zeros((2, 4))}, "test samples"),
        ({"y": np.array([0, 1, -1, 0, 1, 0])}, "labels must be 0 … 1"),
        ({"y": np.full(6, np.nan), "y_test": np.zeros(2)}, "targets hold NaN"),
        ({"x": np.ones(6)}, r"must be an array \(samples, …\)"),
        ({"x": np.ones((0, 3)), "y": np.ones(0, dtype=int)}, "not empty"),
        ({"x": np.array([["a"] * 3] * 6)}, "the arrays must hold numbers"),
        ({"y": np.array(3)}, "mine"),
        ({"owners": np.arange(3)}, "owners"),
        ({"x": np.array([None] * 6, dtype=object)}, "plain arrays"),
    ],
)
def test_bad_arrays_are_refused(change, said, tmp_path):
    arrays = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    with pytest.raises(ValueError, match=said):
        data.load(str(saved(tmp_path, **arrays)))


@given(
    kind=st.sampled_from(["cut", "flip", "noise", "empty"]),
    place=st.floats(0, 1),
    seed=st.integers(0, 10**6),
    packed=st.booleans(),
)
@settings(max_examples=120, deadline=None)
def test_broken_files_are_refused_in_plain_words(tmp_path_factory, kind, place, seed, packed):
    path = tmp_path_factory.mktemp("broken") / "mine.npz"
    (np.savez_compressed if packed else np.savez)(path, **GOOD)
    content = bytearray(path.read_bytes())
    at = min(int(place * len(content)), len(content) - 1)
    if kind == "flip":
        content[at] ^= 1 << seed % 8
    path.write_bytes(
        {"cut": content[:at], "flip": content, "noise": np.random.default_rng(seed).bytes(400), "empty": b""}[kind]
    )
    try:
        data.load(str(path))
    except ValueError as error:
        assert str(path) in str(error)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match="there is no such file"):
        data.load(str(tmp_path / "none.npz"))


def test_torch_datasets():
    pairs = torch.utils.data.TensorDataset(torch.rand(8, 1, 4, 4), torch.arange(8) % 3)
    found = data.from_torch(pairs, pairs, "mine")
    assert found.classes == 3 and found.shape == (1, 4, 4) and np.array_equal(found.x, pairs.tensors[0].numpy())
    lines = torch.utils.data.TensorDataset(torch.rand(8, 2), torch.rand(8))
    assert data.from_torch(lines, lines).classes == 0


@pytest.mark.parametrize("bad", [[], 7, [1, 2], [(np.zeros(2), 0), (np.zeros(3), 1)]])
def test_what_is_no_torch_dataset_is_refused(bad):
    with pytest.raises(ValueError, match="training dataset"):
        data.from_torch(bad, bad)


class Table:
    """As much of a Hugging Face table as is used."""

    def __init__(self, columns):
        import pyarrow as pa

        self.table = pa.table(columns)

    def with_format(self, _):
        return self

    def __getitem__(self, _):
        return self.table


def test_tables_of_hugging_face():
    side = Table({"features": [[0.0, 1.0], [1.0, 0.0]], "label": [0, 1], "user": ["b", "a"]})
    found = data.from_hugging_face({"train": side, "test": side}, "mine")
    assert found.shape == (2,) and found.owners.tolist() == [1, 0] and found.classes == 2


def test_tables_without_a_test_split_are_split_by_owner():
    side = Table({"features": [[float(i)] for i in range(20)], "label": [0, 1] * 10, "user": ["a", "b"] * 10})
    found = data.from_hugging_face({"train": side})
    assert found.x_test.ravel().tolist() == [16, 17, 18, 19] and found.owners_test.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("splits", "said"),
    [
        ({}, "no split 'train'"),
        ({"train": Table({"features": [[1.0]], "label": [0]})}, "no split 'test'"),
        ({"train": Table({"text": ["a"]}), "test": Table({"text": ["a"]})}, "needs columns such as"),
        ({"train": Table({"x": [[1.0], [1.0, 2.0]], "y": [0, 1]})}, "cannot be read"),
    ],
)
def test_tables_that_will_not_do_are_refused(splits, said):
    with pytest.raises(ValueError, match=said):
        data.from_hugging_face(splits)


def test_the_hub_without_its_library_says_what_to_install():
    try:
        import datasets  # noqa: F401
    except ImportError:
        with pytest.raises(ValueError, match=r"pip install 'coterie\[hf\]'"):
            data.load("hf:owner/name")
    else:
        pytest.skip("the library is installed")
