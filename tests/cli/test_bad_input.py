"""Bad input ends with exit code 2, says what is wrong and what is allowed, and leaves nothing behind."""

import itertools
import random
import re

import numpy as np
import pytest

from coterie.cli import main
from coterie.experiments import config
from coterie.experiments.problems import BadInputError

GOOD = """dataset = "digits"
model = "mlp"
clients = 10
per_round = 2
rounds = 3
seeds = [1, 2]
methods = ["uniform", "oort"]
target = 0.5
baseline = "uniform"
holdout = 0.2
evaluate_every = 1
min_replies = 1

[partition]
scheme = "dirichlet"
alpha = 0.5
min_size = 1

[training]
epochs = 2
batch_size = 10
lr = 0.1
momentum = 0.0
weight_decay = 0.0

[world]
availability = 0.9
presence = "random"
recovery = 0

[set.oort]
penalty = 2.0
pacer = "code"
"""
NONSENSE = ["nan", "inf", "-1", "0.5", '"x"', "[]", "{}", "true", "1e999", "99999999999999999999", "1979-05-27", "[[1]]"]
LINES = [line for line in GOOD.splitlines() if "=" in line]
FINE = {  # nonsense in general, but not for these
    "target": {"0.5"},
    "holdout": {"0.5"},
    "alpha": {"0.5"},
    "lr": {"0.5"},
    "momentum": {"0.5"},
    "weight_decay": {"0.5"},
    "availability": {"0.5"},
    "penalty": {"0.5"},
    "model": set(),
}


def broken_values():
    for line, value in itertools.product(LINES, NONSENSE):
        key = line.partition(" =")[0]
        if value not in FINE.get(key, set()):
            yield f"{key} = {value}", GOOD.replace(line, f"{key} = {value}")


def misspelled():
    for line in LINES:
        key, _, value = line.partition(" = ")
        for name in (key + "s", key[:-1], key.upper(), f'"{key} "'):
            if name != key:
                yield f"{name} = {value}", GOOD.replace(line, f"{name} = {value}")
    for table in ("partition", "training", "world", "set.oort"):
        yield table, GOOD.replace(f"[{table}]", f"[{table}x]")
        yield f"{table} twice", GOOD + f"\n[{table}]\n"
        yield f"{table} open", GOOD.replace(f"[{table}]", f"[{table}")


CASES = dict([*broken_values(), *misspelled()])


def test_there_are_enough_malformed_files():
    assert len(CASES) >= 200


@pytest.mark.parametrize("chunk", range(8))
def test_malformed_files_are_refused_with_the_line(chunk, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "bad.toml"
    for name in list(CASES)[chunk::8]:
        file.write_text(CASES[name])
        code = main(["compare", "bad.toml", "--out", "out"])
        said = capsys.readouterr().err
        assert code == 2, (name, said)
        assert "Traceback" not in said, name
        assert said.startswith("error: bad.toml"), (name, said)
        assert re.search(r"line \d+", said), (name, said)
        assert [path.name for path in tmp_path.iterdir()] == ["bad.toml"], name


def test_files_mangled_at_random_are_read_or_refused_but_never_break_the_reader():
    dice = random.Random(1)
    refused = 0
    for _ in range(300):
        text = list(GOOD)
        for _ in range(dice.randint(1, 6)):
            spot = dice.randrange(len(text))
            text[spot] = dice.choice(["", "[", "]", "=", '"', "\n", "\x00", "é", "9", ".", "-", " ", "{", "#", "a"])
        try:
            config.parse("".join(text))
        except BadInputError as bad:
            refused += 1
            assert bad.problems
    assert refused > 100


def test_everything_that_is_wrong_is_said_at_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text(
        'rounds = 0\nmethods = ["unifrm"]\n[partition]\nscheme = "shard"\n[training]\nlr = -1.0\n'
    )
    assert main(["compare", "bad.toml", "--clients", "0"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 5
    assert "--clients" in said[0]
    assert "line 1" in said[1]
    assert "line 2" in said[2] and "did you mean 'uniform'?" in said[2]
    assert "line 4" in said[3] and "did you mean 'shards'?" in said[3]
    assert "line 6" in said[4] and "above 0" in said[4]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("compare nothere.toml", "cannot be read"),
        ("compare --partition iid --alpha 1", "--alpha"),
        ("compare --partition shards --shards 0", "--shards"),
        ("compare --partition shards --shards 5000", "samples"),
        ("compare --clients 100000", "1438"),
        ("compare --model cnnn", "must be one of"),
        ("compare --dataset digit", "did you mean 'digits'?"),
        ("compare --set oort=3", "--set"),
        ("compare --set oort.penalti=3", "did you mean 'penalty'?"),
        ("compare --methods uniform,uniform", "twice"),
        ("compare --methods nothere:Mine", "no selector"),
        ("compare --methods coterie.rules:Rule", "is no selector"),
        ("compare --baseline oor", "did you mean 'oort'?"),
        ("compare --seeds 1,x", "--seeds"),
        ("compare --seeds 0", "--seeds"),
        ("compare --jobs 0", "--jobs"),
        ("compare --on cluster", "loky"),
        ("compare --json /nowhere/x.json", "no folder"),
        ("compare --dataset regression --partition iid --methods fedcbs", "labels"),
        ("compare --presence sometimes", "markov"),
        ("methods oor", "did you mean 'oort'?"),
        ("data get fashon-mnist", "did you mean 'fashion-mnist'?"),
        ("partition --scheme dirichlt", "did you mean 'dirichlet'?"),
        ("partition --scheme dirichlet --alpha 0", "--alpha"),
        ("partition --clients 2000", "1438"),
        ("partition --clients 0", "--clients: must be a whole number from 1, not 0"),
        ("partition --scheme two-level --min-size 50", "--min-size: 100 clients with 50 samples each need 5000"),
        ("partition --scheme two-level --beta -1", "--beta: partition.beta: must be above 0 and finite, not -1.0"),
        ("partition --scheme two-level --set alpha=[0.1,0]", "must be above 0 and finite, not [0.1, 0.0]"),
        ("partition --scheme two-level --clusters 2000", "--clusters: 2000 cannot be made of 1438 samples"),
        ("partition --beside iid,shard", "--beside: there is no scheme 'shard'; did you mean 'shards'?"),
        ("partition --beside iid,iid", "--beside: names a scheme twice"),
        ("partition --beside natural", "--beside: natural: 'digits' does not say whose its samples are"),
        ("partition --out /nowhere/x.npz", "--out"),
        ("partition --plot p.gif", "--plot"),
        ("partition --target entropi=1", "--target"),
        ("partition --target entropy=9", "--target"),
        ("partition --target entropy", "--target"),
        ("compare --partition nowhere.npz", "no file"),
        ("report nowhere", "no run is here"),
        ("resume nowhere", "no run is here"),
        ("reproduce nothing", "no reproduction"),
        ("bench nothing", "no benchmark"),
    ],
)
def test_bad_flags_and_names(line, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(line.split()) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert "Traceback" not in said.err
    assert not said.out
    assert not list(tmp_path.iterdir())


def test_data_and_partition_files_that_do_not_fit(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    x, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 3
    hole = np.where(np.arange(60)[:, None] == 5, np.nan, x)
    for name, x_, y_ in (("mine", x, y), ("nan", hole, y), ("gap", x, np.where(y == 1, 5, y)), ("minus", x, y - 1)):
        np.savez(f"{name}.npz", x=x_, y=y_, x_test=x[:6], y_test=y_[:6])
    assert main(["partition", "--dataset", "mine.npz", "--clients", "5", "--out", "kept.npz", "--json", "-"]) == 0
    capsys.readouterr()
    for line, words in [
        ("partition --dataset nan.npz --scheme two-level", "--dataset: nan.npz: nan: the training samples hold NaN"),
        ("partition --dataset gap.npz --scheme two-level --clients 5", "no training sample of 'gap' has label 1, 3, 4"),
        ("partition --dataset minus.npz --scheme shards --clients 5", "labels must be 0 … 1, found -1 … 1"),
        ("partition --scheme kept.npz --clients 5", "this partition was made of other data (fingerprint"),
        ("partition --scheme kept.npz --dataset mine.npz --clients 6", "kept.npz has 5 clients, not 6"),
        ("partition --scheme mine.npz --dataset mine.npz --clients 5", "mine.npz: this is no partition file"),
        ("compare --partition kept.npz --clients 5 --out run", "this partition was made of other data (fingerprint"),
        ("compare --dataset mine.npz --partition mine.npz --clients 5 --out run", "mine.npz: this is no partition file"),
    ]:
        assert main(line.split()) == 2, line
        said = capsys.readouterr()
        assert words in said.err and "Traceback" not in said.err, (line, said.err)
        assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("line", ["compare --rounds many", "compare --nothing", "nothing", "methods a b", "resume"])
def test_what_the_command_line_cannot_read(line, capsys):
    assert main(line.split()) == 2
    assert "Error" in capsys.readouterr().err


@pytest.mark.parametrize("deep", ["a=" + "[" * 9999, "a=" + "{a=" * 9999])
def test_a_file_that_is_too_deep(deep, tmp_path, capsys):
    (tmp_path / "bad.toml").write_text(deep)
    assert main(["compare", str(tmp_path / "bad.toml")]) == 2
    assert "recursion" in capsys.readouterr().err
    assert main(["compare", "--set", f"oort.{deep}"]) == 2


def test_a_file_that_is_no_text(tmp_path, capsys):
    file = tmp_path / "bad.toml"
    file.write_bytes(b"rounds = 3\xff\xfe")
    assert main(["compare", str(file)]) == 2
    assert "UTF-8" in capsys.readouterr().err


def test_a_run_is_never_written_over(tmp_path, capsys):
    (tmp_path / "there").mkdir()
    assert main(["compare", "--out", str(tmp_path / "there")]) == 2
    assert "is there already" in capsys.readouterr().err
