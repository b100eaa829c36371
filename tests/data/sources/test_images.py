"""Known sets of images in their standard formats: small files of that format, found, read, checked, refused."""

import gzip
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie.data as data
from coterie.data import fetch
from coterie.data.sources import cifar, idx, places
from coterie.data.sources.images import KNOWN
from coterie.data.sources.raw import MalformedError, Raw


@pytest.fixture(autouse=True)
def nothing_else_is_here(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setattr(places, "DEBIAN", tmp_path / "debian")
    monkeypatch.delenv("COTERIE_DATA_DIR", raising=False)
    monkeypatch.chdir(tmp_path)


def raw(classes=10, shape=(1, 28, 28), train=30, test=10, seed=0):
    dice = np.random.default_rng(seed)
    x, x_test = (dice.integers(256, size=(n, *shape), dtype=np.uint8) for n in (train, test))
    y, y_test = np.arange(train) % classes, np.arange(test) % classes
    return Raw(x, y, x_test, y_test)


def write_idx(folder, images, prefix="", ends=""):
    folder.mkdir(parents=True, exist_ok=True)
    for name, pieces in idx.files(images):
        content = b"".join(pieces)
        path = folder / (prefix + (name.replace("t10k", "test") if prefix else name) + ends)
        path.write_bytes(gzip.compress(content) if ends else content)


@pytest.mark.parametrize("ends", ["", ".gz"])
@pytest.mark.parametrize("folder", ["k-mnist", "KMNIST/raw", ""])
def test_idx_files_are_found_in_every_layout(folder, ends, tmp_path):
    images = raw()
    write_idx(tmp_path / "mine" / folder, images, ends=ends)
    found = data.load("KMNIST", tmp_path / "mine")
    assert found.shape == (1, 28, 28) and found.x.dtype == np.float32
    assert np.array_equal(found.y, images.y) and np.array_equal(found.y_test, images.y_test)
    assert np.allclose(found.x, (images.x / 255 - 0.1307) / 0.3081, atol=1e-5)


def test_the_environment_names_a_folder_too(tmp_path, monkeypatch):
    write_idx(tmp_path / "there" / "k-mnist", raw())
    monkeypatch.setenv("COTERIE_DATA_DIR", str(tmp_path / "there"))
    assert len(data.load("k-mnist")) == 30


def test_emnist_stands_upright_and_letters_count_from_zero(tmp_path):
    images = raw(26, train=52)
    lying = Raw(images.x.swapaxes(2, 3), images.y + 1, images.x_test.swapaxes(2, 3), images.y_test + 1)
    write_idx(tmp_path / "EMNIST/raw", lying, "emnist-letters-")
    found = data.load("emnist-letters", tmp_path)
    assert found.classes == 26 and np.array_equal(found.y, images.y)
    assert np.allclose(found.x[3], (images.x[3] / 255 - 0.1307) / 0.3081, atol=1e-5)


@pytest.mark.parametrize("classes", [10, 100])
def test_cifar_binary_records(classes, tmp_path):
    folder = tmp_path / f"cifar-{classes}-binary"
    images = raw(classes, (3, 32, 32), 100 if classes == 100 else 50, 10)
    folder.mkdir()
    for name, x, y in _batches(images, classes):
        extra = [np.zeros((len(x), 1), dtype=np.uint8)] if classes == 100 else []
        np.concatenate([*extra, y[:, None].astype(np.uint8), x.reshape(len(x), -1)], axis=1).tofile(folder / f"{name}.bin")
    found = cifar.read(folder, classes)
    assert (
        np.array_equal(found.x, images.x) and np.array_equal(found.y, images.y) and np.array_equal(found.y_test, images.y_test)
    )


@pytest.mark.parametrize("classes", [10, 100])
def test_cifar_batches_of_python_are_read_and_run_nothing(classes, tmp_path):
    images = raw(classes, (3, 32, 32), 100 if classes == 100 else 50, 10)
    key = b"labels" if classes == 10 else b"fine_labels"
    for name, x, y in _batches(images, classes):
        batch = {b"data": x.reshape(len(x), -1), key: y.tolist(), b"batch_label": b"some"}
        (tmp_path / name).write_bytes(pickle.dumps(batch, protocol=2))
    found = cifar.read(tmp_path, classes)
    assert np.array_equal(found.x, images.x) and np.array_equal(found.y, images.y)
    (tmp_path / ("test_batch" if classes == 10 else "test")).write_bytes(b"cos\nsystem\n(S'touch owned'\ntR.")
    with pytest.raises(MalformedError, match=r"asks for os\.system"):
        cifar.read(tmp_path, classes)
    assert not (tmp_path / "owned").exists()


def test_cifar_sheets_of_pictures(tmp_path):
    from PIL import Image

    images = raw(10, (3, 32, 32), 50, 10)
    for name, x, _ in _batches(images, 10):
        Image.fromarray(x.reshape(len(x), 3, 1024).transpose(0, 2, 1)).save(tmp_path / f"{name}.png")
    (tmp_path / "train_lables.json").write_text(json.dumps(images.y.tolist()))
    (tmp_path / "test_lables.json").write_text(json.dumps(images.y_test.tolist()))
    found = cifar.read(tmp_path, 10)
    assert (
        np.array_equal(found.x, images.x) and np.array_equal(found.y, images.y) and np.array_equal(found.x_test, images.x_test)
    )
    (tmp_path / "train_lables.json").write_text("[1, 2]")
    with pytest.raises(MalformedError, match="labels for 50 images"):
        cifar.read(tmp_path, 10)


def _batches(images, classes):
    if classes == 100:
        yield "train", images.x, images.y
        yield "test", images.x_test, images.y_test
        return
    for i in range(5):
        yield f"data_batch_{i + 1}", images.x[10 * i : 10 * i + 10], images.y[10 * i : 10 * i + 10]
    yield "test_batch", images.x_test, images.y_test


def test_usps_in_the_format_of_libsvm(tmp_path):
    import bz2

    images = raw(10, (1, 16, 16))
    for name, x, y in [("usps", images.x, images.y), ("usps.t", images.x_test, images.y_test)]:
        values = x.reshape(len(x), -1) / 127.5 - 1
        lines = [
            f"{label + 1} " + " ".join(f"{i + 1}:{v:.9f}" for i, v in enumerate(row))
            for label, row in zip(y, values, strict=True)
        ]
        (tmp_path / f"{name}.bz2").write_bytes(bz2.compress("\n".join(lines).encode()))
    found = data.load("usps", tmp_path)
    assert found.shape == (1, 16, 16) and np.array_equal(found.y, images.y)
    assert np.allclose(found.x, (images.x / 255 - 0.1307) / 0.3081, atol=1e-5)


def test_femnist_as_leaf_writes_it(tmp_path):
    dice = np.random.default_rng(0)
    for side, n in (("train", 6), ("test", 2)):
        (tmp_path / "femnist" / "data" / side).mkdir(parents=True)
        for part, names in enumerate([["f1", "f0"], ["f2"]]):
            users = {u: {"x": dice.random((n, 784)).round(3).tolist(), "y": [62 % 7, *range(n - 1)]} for u in names}
            document = {"users": names, "num_samples": [n] * len(names), "user_data": users}
            (tmp_path / "femnist" / "data" / side / f"all_{part}.json").write_text(json.dumps(document))
    found = data.load("femnist", tmp_path)
    assert found.classes == 62 and found.owners.tolist() == [0] * 6 + [1] * 6 + [2] * 6
    assert data.natural().split(found, 3, 1).sizes.tolist() == [6, 6, 6]


def test_parquet_files_of_the_hub_are_read_without_its_library(tmp_path):
    import io

    import pyarrow as pa
    from PIL import Image
    from pyarrow import parquet

    def picture(x):
        out = io.BytesIO()
        Image.fromarray(x[0]).save(out, "PNG")
        return {"bytes": out.getvalue(), "path": None}

    images = raw(10, (1, 16, 16))
    folder = tmp_path / "hub/hub/datasets--flwrlabs--usps/snapshots/abc/data"
    folder.mkdir(parents=True)
    for split, x, y in [("train", images.x, images.y), ("test", images.x_test, images.y_test)]:
        parquet.write_table(
            pa.table({"image": [picture(one) for one in x], "label": y}), folder / f"{split}-00000-of-00001.parquet"
        )
    found = data.load("usps")
    assert np.array_equal(found.y, images.y) and np.allclose(found.x, (images.x / 255 - 0.1307) / 0.3081, atol=1e-5)
    assert fetch.where("usps") == "Hugging Face's cache (flwrlabs/usps)"
    (folder / "test-00000-of-00001.parquet").write_bytes(b"PAR1 but not really")
    with pytest.raises(ValueError, match="no parquet file"):
        data.load("usps")


def test_what_is_not_here_is_said_with_how_to_get_it():
    with pytest.raises(ValueError, match="not on this machine; fetch it with: coterie data get mnist, or put its files into"):
        data.load("mnist")
    assert fetch.where("mnist") is None


@pytest.mark.parametrize(
    ("name", "said"), [("fashion-minst", "did you mean 'fashion-mnist'"), ("", "Allowed: digits"), ("x" * 99, "none called")]
)
def test_unknown_names_are_refused_with_the_nearest(name, said):
    with pytest.raises(ValueError, match=said):
        data.load(name)


def test_a_set_under_anothers_name_is_refused(tmp_path):
    write_idx(tmp_path / "mnist", raw())
    with pytest.raises(ValueError, match=r"no good copy of 'mnist'.*SHA-256 differs"):
        data.load("mnist", tmp_path)


def test_a_bad_copy_does_not_hide_a_good_one(tmp_path):
    write_idx(tmp_path / "a" / "k-mnist", raw())
    (tmp_path / "a" / "k-mnist" / "train-images-idx3-ubyte").write_bytes(b"\0\0\x08\x03 torn")
    write_idx(tmp_path / "cache/coterie/k-mnist", raw(seed=1))
    assert np.allclose(data.load("k-mnist", tmp_path / "a").x, (raw(seed=1).x / 255 - 0.1307) / 0.3081, atol=1e-5)
    with pytest.raises(ValueError, match="header promises"):
        (tmp_path / "cache/coterie/k-mnist/t10k-labels-idx1-ubyte").unlink()
        data.load("k-mnist", tmp_path / "a")


@given(
    part=st.sampled_from(sorted(idx.PARTS.values())),
    kind=st.sampled_from(["cut", "flip", "noise", "grow", "empty"]),
    place=st.floats(0, 1),
    gz=st.booleans(),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=150, deadline=None)
def test_broken_idx_files_are_refused_in_plain_words(tmp_path_factory, part, kind, place, gz, seed):
    folder = tmp_path_factory.mktemp("broken")
    ends = ".gz" if gz else ""
    write_idx(folder, raw(train=4, test=4), ends=ends)
    path = folder / (part + ends)
    path.write_bytes(broken(path.read_bytes(), kind, place, seed))
    try:
        found = data.load("k-mnist", folder)
    except ValueError as error:
        assert "k-mnist" in str(error) and len(str(error)) < 2000
    else:
        assert kind == "flip" and len(found) == 4, "a changed pixel or label is still a set of that format"


@given(
    kind=st.sampled_from(["cut", "flip", "noise", "grow", "empty"]),
    place=st.floats(0, 1),
    seed=st.integers(0, 10**6),
    layout=st.sampled_from(["bin", "pickle", "png", "json", "libsvm"]),
)
@settings(max_examples=80, deadline=None)
def test_broken_files_of_other_layouts_are_refused_in_plain_words(tmp_path_factory, kind, place, seed, layout):
    from PIL import Image

    folder = tmp_path_factory.mktemp("broken")
    images = raw(10, (3, 32, 32), 50, 10)
    name = {"libsvm": "usps"}.get(layout, "cifar-100")
    if layout == "bin":
        for split, x, y in _batches(images, 100):
            np.concatenate([np.zeros((len(x), 1), np.uint8), y[:, None].astype(np.uint8), x.reshape(len(x), -1)], 1).tofile(
                folder / f"{split}.bin"
            )
        path = folder / "train.bin"
    elif layout == "pickle":
        for split, x, y in _batches(images, 100):
            (folder / split).write_bytes(pickle.dumps({b"data": x.reshape(len(x), -1), b"fine_labels": y.tolist()}, protocol=2))
        path = folder / "train"
    elif layout in ("png", "json"):
        name = "cifar-10"
        for split, x, _ in _batches(images, 10):
            Image.fromarray(x.reshape(len(x), 3, 1024).transpose(0, 2, 1)).save(folder / f"{split}.png")
        (folder / "train_lables.json").write_text(json.dumps(images.y.tolist()))
        (folder / "test_lables.json").write_text(json.dumps(images.y_test.tolist()))
        path = folder / ("data_batch_2.png" if layout == "png" else "train_lables.json")
    else:
        for side in ("usps", "usps.t"):
            (folder / side).write_text("\n".join(f"{i % 10 + 1} 1:0.5 256:-1" for i in range(12)))
        path = folder / "usps"
    path.write_bytes(broken(path.read_bytes(), kind, place, seed))
    try:
        data.load(name, folder)
    except ValueError as error:
        assert name in str(error)
    else:
        assert name != "cifar-10", "its content is known"


def broken(content, kind, place, seed):
    at = min(int(place * len(content)), max(len(content) - 1, 0))
    match kind:
        case "cut":
            return content[:at]
        case "flip":
            return content[:at] + bytes([content[at] ^ (1 << seed % 8)]) + content[at + 1 :]
        case "noise":
            return np.random.default_rng(seed).bytes(len(content) // 2 + 1)
        case "grow":
            return content + np.random.default_rng(seed).bytes(17)
        case _:
            return b""


def test_fashion_mnist_is_the_one_that_is_published(monkeypatch):
    monkeypatch.undo()
    if fetch.where("fashion-mnist") is None:
        pytest.skip("Fashion-MNIST is not on this machine: coterie data get fashion-mnist")
    found = data.load("fashion-mnist")
    assert (len(found), len(found.x_test)) == (60_000, 10_000)
    assert set(np.bincount(found.y)) == {6000} and set(np.bincount(found.y_test)) == {1000}
    pixels = found.x.astype(np.float64) * 0.3081 + 0.1307
    assert pixels.mean() == pytest.approx(0.2860, abs=1e-4) and pixels.std() == pytest.approx(0.3530, abs=1e-4)


@pytest.mark.parametrize("name", ["mnist", "cifar-10"])
def test_fetched_sets_are_the_ones_that_are_published(name, monkeypatch, user_cache):
    monkeypatch.undo()
    if fetch.where(name, user_cache) is None:
        pytest.skip(f"{KNOWN[name].title} is not on this machine: coterie data get {name}")
    found = data.load(name, user_cache)
    if name == "mnist":
        assert found.x.mean() == pytest.approx(0, abs=1e-3) and found.x.std() == pytest.approx(1, abs=1e-3)
    else:
        means = (found.x.mean(axis=(0, 2, 3), dtype=np.float64) * 0.5 + 0.5) * 255
        assert means == pytest.approx([125.30691805, 122.95039414, 113.86538318], abs=1e-3)
        assert found.y[:10].tolist() == [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]
