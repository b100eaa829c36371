"""Data files, partitions, traces, tables and runs that are malformed: exit 2, a reason, and nothing left behind."""

import gzip
import itertools
import json
import random
import shutil
import struct
import zipfile

import numpy as np
import pytest

from coterie.cli import main
from coterie.data import Partition, load
from coterie.experiments import config, run
from tests.experiments import tiny
from tests.promises.how_many import many

CHUNKS = 4
EXPERIMENT = """
dataset = "{data}"
model = "linear"
clients = 8
per_round = 2
rounds = 2
seeds = [1]
methods = ["uniform"]
[partition]
scheme = "iid"
[training]
epochs = 1
batch_size = 5
{world}
"""
WORLD = {"trace": '[world]\npresence = "trace"\ntrace = "bad.csv"', "table": '[world]\ndevices = "table"\ntable = "bad.csv"'}


def refused(line, folder, monkeypatch, capsys, why):
    """The command ends with 2, says what is wrong in a line that names no code, and leaves the folder as it was."""
    monkeypatch.chdir(folder)
    before = snapshot(folder)
    code = main(line.split())
    said = capsys.readouterr()
    assert code == 2, (why, code, said.err[-300:])
    assert said.err.startswith("error: ") and "Traceback" not in said.err, (why, said.err)
    assert not said.out, why
    assert snapshot(folder) == before, (why, "left something behind")


def snapshot(folder):
    return {path.relative_to(folder): path.stat().st_size for path in folder.rglob("*")}


def arrays(**changed):
    """A good dataset's arrays, some of them changed; None takes one away."""
    dice = np.random.default_rng(1)
    good = {
        "x": dice.normal(size=(90, 4)),
        "y": np.arange(90) % 3,
        "x_test": dice.normal(size=(30, 4)),
        "y_test": np.arange(30) % 3,
    }
    return {name: value for name, value in {**good, **changed}.items() if value is not None}


def infected(value, array):
    array = np.array(array, dtype=float)
    array.flat[5] = value
    return array


def npz_files():
    good = arrays()
    for name in good:
        yield f"no {name}", arrays(**{name: None})
        yield f"{name} empty", arrays(**{name: good[name][:0]})
        yield f"{name} of texts", arrays(**{name: good[name].astype(str)})
        yield f"{name} complex", arrays(**{name: good[name] + 1j})
        yield f"{name} of objects", arrays(**{name: np.array([{"a": 1}] * len(good[name]), dtype=object)})
        yield f"{name} a number", arrays(**{name: np.array(1.0)})
        yield f"{name} too short", arrays(**{name: good[name][:-1]})
        for value in (np.nan, np.inf, -np.inf):
            yield f"{name} with {value}", arrays(**{name: infected(value, good[name])})
    for name in ("x", "x_test"):
        yield f"{name} other width", arrays(**{name: good[name][:, :3]})
        yield f"{name} flat", arrays(**{name: good[name][:, 0]})
    for name in ("y", "y_test"):
        yield f"{name} negative", arrays(**{name: good[name] - 1})
        yield f"{name} a table", arrays(**{name: np.stack([good[name]] * 2, 1)})
    yield "too few samples", arrays(x=good["x"][:3], y=good["y"][:3])


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_data_of_ones_own(chunk, tmp_path, monkeypatch, capsys):
    for why, content in list(npz_files())[chunk::CHUNKS]:
        np.savez(tmp_path / "bad.npz", **content)
        (tmp_path / "bad.toml").write_text(EXPERIMENT.format(data="bad.npz", world=""))
        refused("compare bad.toml --out out", tmp_path, monkeypatch, capsys, why)
        refused("partition --dataset bad.npz --clients 8 --out p.npz", tmp_path, monkeypatch, capsys, why)


def mangled(content, dice):
    """A file that somebody cut, overwrote or put together wrongly."""
    match dice.randrange(5):
        case 0:
            return content[: dice.randrange(len(content))]
        case 1:
            return dice.randbytes(len(content))
        case 2:
            return b""
        case 3:
            at = dice.randrange(len(content) // 2)
            return content[:at] + dice.randbytes(len(content) // 3) + content[at + len(content) // 3 :]
        case _:
            return content[len(content) // 3 :]


def test_data_cut_and_overwritten(tmp_path, monkeypatch, capsys):
    np.savez(tmp_path / "bad.npz", **arrays())
    content, dice = (tmp_path / "bad.npz").read_bytes(), random.Random(1)
    (tmp_path / "bad.toml").write_text(EXPERIMENT.format(data="bad.npz", world=""))
    for number in range(many(12, 60)):
        (tmp_path / "bad.npz").write_bytes(mangled(content, dice))
        refused("compare bad.toml --out out", tmp_path, monkeypatch, capsys, f"number {number}")


def idx(array, kind=8, dims=None):
    """An IDX file: two zeros, the type, the number of dimensions, the dimensions, the bytes."""
    sizes = array.shape if dims is None else dims
    return struct.pack(f">BBBB{len(sizes)}I", 0, 0, kind, len(sizes), *sizes) + array.astype(np.uint8).tobytes()


def idx_files():
    x, y = np.zeros((20, 28, 28)), np.arange(20) % 10
    good = {"train-images-idx3-ubyte": idx(x), "train-labels-idx1-ubyte": idx(y)}
    good |= {"t10k-images-idx3-ubyte": idx(x), "t10k-labels-idx1-ubyte": idx(y)}
    yield "not the set's content", good
    for name, content in good.items():
        yield f"{name} empty", {**good, name: b""}
        yield f"{name} of three bytes", {**good, name: content[:3]}
        yield f"{name} cut", {**good, name: content[:-7]}
        yield f"{name} too long", {**good, name: content + b"more"}
        yield f"{name} of floats", {**good, name: content[:2] + b"\x0d" + content[3:]}
        yield f"{name} of a web page", {**good, name: b"<html><body>404 Not Found</body></html>"}
        yield f"{name} gzip cut", {**good, name + ".gz": gzip.compress(content)[:-9], name: None}
        yield f"{name} no gzip", {**good, name + ".gz": b"\x1f\x8b nothing", name: None}
        yield f"{name} claims billions", {**good, name: idx(x, dims=(2**31, 28, 28))}
        yield f"{name} of no dimensions", {**good, name: idx(x, dims=())}
    yield "labels too high", {**good, "train-labels-idx1-ubyte": idx(y + 200)}
    yield "fewer labels", {**good, "train-labels-idx1-ubyte": idx(y[:5])}


def cifar_files():
    good = {f"data_batch_{k}.bin": bytes(3073 * 2) for k in range(1, 6)} | {"test_batch.bin": bytes(3073 * 2)}
    yield "not the set's content", good
    for name in ("data_batch_1.bin", "data_batch_5.bin", "test_batch.bin"):
        yield f"{name} cut", {**good, name: bytes(3073 + 5)}
        yield f"{name} empty", {**good, name: b""}
        yield f"{name} labels", {**good, name: b"\xff" * 3073 * 2}


def pickled_cifar():
    yield "a pickle that would run something", {"data_batch_1": b"cos\nsystem\n(S'true'\ntR."}
    yield "a pickle cut", {"data_batch_1": b"\x80\x04\x95"}


NAMED = [("fashion-mnist", "fashion-mnist", idx_files), ("k-mnist", "k-mnist", idx_files)]
NAMED += [("cifar-10", "cifar-10-batches-bin", cifar_files), ("cifar-10", "cifar-10-batches-py", pickled_cifar)]


@pytest.mark.parametrize(("name", "folder", "cases"), NAMED, ids=[f"{name}-{f}" for name, f, _ in NAMED])
def test_files_of_known_sets(name, folder, cases, tmp_path, monkeypatch, capsys):
    for variable in ("XDG_CACHE_HOME", "HF_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "none"))
    monkeypatch.delenv("COTERIE_DATA_DIR", raising=False)
    monkeypatch.setattr("coterie.data.sources.places.DEBIAN", tmp_path / "none")
    for why, files in cases():
        if name == "k-mnist" and why == "not the set's content":
            continue  # no trusted copy was at hand, so there is no hash to differ
        shutil.rmtree(tmp_path / "data", ignore_errors=True)
        there = tmp_path / "data" / folder
        there.mkdir(parents=True)
        for file, content in files.items():
            if content is not None:
                (there / file).write_bytes(content)
        line = f"partition --dataset {name} --data-dir data --clients 4 --out p.npz"
        refused(line, tmp_path, monkeypatch, capsys, f"{name}: {why}")


def partition_files(good):
    order, offsets, about = good["order"], good["offsets"], json.loads(str(good["about"]))
    for name in good:
        yield f"no {name}", {key: value for key, value in good.items() if key != name}
        yield f"{name} of floats", {**good, name: np.array([0.5, 1.5])}
        yield f"{name} empty", {**good, name: np.array([])}
        yield f"{name} of objects", {**good, name: np.array([{}], dtype=object)}
    yield "a sample twice", {**good, "order": np.concatenate([order[:1], order[:-1]])}
    yield "a sample below 0", {**good, "order": order - 1}
    yield "a sample beyond", {**good, "order": order + 1000}
    yield "offsets that fall", {**good, "offsets": offsets[::-1]}
    yield "offsets beyond", {**good, "offsets": offsets + 1}
    yield "offsets from below", {**good, "offsets": offsets - 1}
    yield "a table of offsets", {**good, "offsets": offsets.reshape(1, -1)}
    yield "fewer clients", {**good, "offsets": offsets[[0, -1]]}
    for key in about:
        yield f"about without {key}", {**good, "about": np.array(json.dumps({k: v for k, v in about.items() if k != key}))}
        yield f"about {key} wrong", {**good, "about": np.array(json.dumps({**about, key: ["?"]}))}
    yield "about other data", {**good, "about": np.array(json.dumps({**about, "fingerprint": "f" * 64}))}
    yield "about no JSON", {**good, "about": np.array("{")}


@pytest.fixture
def parted(tmp_path):
    """A dataset and a partition of it."""
    np.savez(tmp_path / "data.npz", **arrays())
    data = load(str(tmp_path / "data.npz"))
    Partition.of(np.arange(len(data)) % 8, 8, "iid", fingerprint=data.fingerprint).save(tmp_path / "bad.npz")
    text = EXPERIMENT.format(data="data.npz", world="").replace('scheme = "iid"', 'scheme = "saved"\npath = "bad.npz"')
    (tmp_path / "bad.toml").write_text(text)
    return tmp_path


def test_partition_files(parted, monkeypatch, capsys):
    with np.load(parted / "bad.npz") as file:
        good = dict(file)
    for why, content in partition_files(good):
        np.savez(parted / "bad.npz", **content)
        refused("compare bad.toml --out out", parted, monkeypatch, capsys, why)


def test_partition_files_cut_and_overwritten(parted, monkeypatch, capsys):
    content, dice = (parted / "bad.npz").read_bytes(), random.Random(2)
    for number in range(many(10, 60)):
        (parted / "bad.npz").write_bytes(mangled(content, dice))
        refused("compare bad.toml --out out", parted, monkeypatch, capsys, f"number {number}")
    with zipfile.ZipFile(parted / "bad.npz", "w") as archive:
        archive.writestr("order.npy", "no array")
    refused("compare bad.toml --out out", parted, monkeypatch, capsys, "a member that is no array")


TABLES = {
    "trace": [
        *["", "client,round\n", "client,round\n0,0\n", "client,round\n0,-3\n", "client,round\n0,x\n"],
        *["client,round\nnobody,1\n", "who,when\n0,1\n", "client,start,end\n0,5,2\n", "client,start\n0,5\n"],
        *["client,start,end\n0,1,9999999999999\n", "client,round\n0,1.5\n", "client,round\n0\n", "\x00\x00"],
        *["client,round\n0,nan\n", "client,round\n0,\n", '"client,round\n0,1', "{}", "[1, 2]", "client\n0\n"],
    ],
    "table": [
        *["", "speed,bandwidth\n", "speed,bandwidth\n1\n", "speed,bandwidth\n0,1\n", "speed,bandwidth\n-1,1\n", "speed\n1\n"],
        *[
            "speed,bandwidth\nnan,1\n",
            "speed,bandwidth\ninf,1\n",
            "speed,bandwidth\nx,1\n",
            "a,b\n1,1\n",
            "\x00",
            "speed,bandwidth\n,\n",
        ],
        *["speed;bandwidth\n1;1\n", "[1]", "speed,bandwidth\n1e999,1\n", '"speed,bandwidth\n1,1'],
    ],
}


@pytest.mark.parametrize("kind", TABLES)
def test_traces_and_tables_of_devices(kind, parted, monkeypatch, capsys):
    (parted / "bad.npz").unlink()
    (parted / "bad.toml").write_text(EXPERIMENT.format(data="data.npz", world=WORLD[kind]))
    binary = [b"\xff\xfe\x00", b"PK\x03\x04", bytes(range(256))]
    for number, content in enumerate([*(text.encode() for text in TABLES[kind]), *binary, None]):
        if content is None:
            (parted / "bad.csv").unlink()
        else:
            (parted / "bad.csv").write_bytes(content)
        refused("compare bad.toml --out out", parted, monkeypatch, capsys, f"{kind} number {number}: {content!r}")
    (parted / "bad.csv").mkdir()
    refused("compare bad.toml --out out", parted, monkeypatch, capsys, "a folder")


def test_good_files_pass(parted, monkeypatch):
    """So that the others are refused for what is wrong with them."""
    monkeypatch.chdir(parted)
    assert run.start(config.load(parted / "bad.toml"), parted / "saved")
    for kind, good in [("trace", "client,round\n0,1\n1,2\n2,2\n"), ("table", "speed,bandwidth\n1,1\n")]:
        (parted / "bad.csv").write_text(good)
        (parted / "bad.toml").write_text(EXPERIMENT.format(data="data.npz", world=WORLD[kind]))
        assert run.start(config.load(parted / "bad.toml"), parted / kind)


JSON_TRACES = ["{}", "[]", "[1]", "[{}]", '[{"client": "0"}]', '[{"client": "0", "round": null}]', "[", "nul"]


def test_traces_in_json(parted, monkeypatch, capsys):
    (parted / "bad.toml").write_text(EXPERIMENT.format(data="data.npz", world=WORLD["trace"].replace(".csv", ".json")))
    for content in [*JSON_TRACES, '[{"client": "0", "round": [1]}]', '[{"client": 0, "round": 0}]', "é" * 9, "[" * 5000]:
        (parted / "bad.json").write_text(content)
        refused("compare bad.toml --out out", parted, monkeypatch, capsys, content[:60])


def test_runs_that_are_none_any_more(tmp_path, monkeypatch, capsys):
    store = tiny.begin(tiny.dataset(tmp_path), tmp_path / "good", rounds=2)
    tiny.play(store)
    files = ["experiment.toml", "environment.json"]
    contents = [b"", b"nonsense [", b"\xff\xfe", b"[]", b"{}", b'"x"', b"null", b"a=" + b"[" * 9999, None]
    for name, content, command in itertools.product(files, contents, ("report bad", "resume bad")):
        shutil.rmtree(tmp_path / "bad", ignore_errors=True)
        shutil.copytree(tmp_path / "good", tmp_path / "bad")
        (tmp_path / "bad" / "rounds.parquet").unlink()
        if content is None:
            (tmp_path / "bad" / name).unlink()
        else:
            (tmp_path / "bad" / name).write_bytes(content)
        monkeypatch.chdir(tmp_path)
        code = main(command.split())
        said = capsys.readouterr().err
        assert code in (0, 1, 2) and "Traceback" not in said, (name, content, command)
        assert name != "experiment.toml" or code == 2, (name, content, command, said)


def test_there_are_enough_and_a_reader_that_lets_one_pass_is_caught(parted, monkeypatch, capsys):
    with np.load(parted / "bad.npz") as file:
        cases = len(list(partition_files(dict(file))))
    cases += 2 * len(list(npz_files())) + sum(len(list(make())) for _, _, make in NAMED) + sum(map(len, TABLES.values()))
    assert cases >= 200
    monkeypatch.setattr(Partition, "check", lambda *given: None)
    Partition.of(np.arange(90) % 8, 8, "iid", fingerprint="f" * 64).save(parted / "bad.npz")
    with pytest.raises(AssertionError, match="other data"):
        refused("compare bad.toml --out out", parted, monkeypatch, capsys, "about other data")
