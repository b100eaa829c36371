import json
import resource
import signal
import subprocess
import sys
import time

import pytest

from coterie.cli import main
from coterie.experiments.store import Store
from tests.experiments import tiny

COMMANDS = ("compare", "methods", "partition", "data", "report", "resume", "reproduce", "bench", "flower")


@pytest.fixture(scope="module")
def blobs(tmp_path_factory):
    return tiny.dataset(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def played(blobs, tmp_path_factory):
    """A comparison by the command line: its folder, and its JSON."""
    folder = tmp_path_factory.mktemp("compare")
    (folder / "tiny.toml").write_text(tiny.text(blobs, seeds=(1, 2)))
    line = [
        "compare",
        str(folder / "tiny.toml"),
        "--out",
        str(folder / "run"),
        "--jobs",
        "1",
        "--json",
        str(folder / "out.json"),
    ]
    assert main(line) == 0
    return Store(folder / "run"), json.loads((folder / "out.json").read_text())


def said(line: str, capsys) -> dict:
    assert main(line.split()) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command, capsys):
    assert main([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert "Examples:" in text
    assert f"coterie {command}" in text
    assert "--json" in text


def test_help_answers_at_once_because_nothing_heavy_is_loaded():
    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-c", "from coterie.cli import main; main(['--help'])"], check=True, capture_output=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    assert min(seconds() for _ in range(5)) < 0.5
    loaded = (
        "from coterie.cli import main; import sys; main(['--help']); print({'numpy', 'torch', 'pandas'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", loaded], check=True, capture_output=True, text=True).stdout.endswith("set()\n")


def test_version(capsys):
    from importlib.metadata import version

    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == version("coterie")


def test_the_json_of_compare(played):
    _, found = played
    assert set(found) >= {"methods", "trace", "paired", "baseline", "seeds", "target", "complete"}
    assert set(found["methods"]) == set(tiny.METHODS)
    for one in found["methods"].values():
        for name in ("final_accuracy", "client_accuracy", "rounds_to_target", "bytes_to_target"):
            assert {"mean", "sd", "per_seed"} <= set(one[name])
            assert len(one[name]["per_seed"]) == 2
        for name in ("bytes_up", "bytes_down", "seconds_per_round"):
            assert one[name] > 0
    assert len(found["trace"]) == 2 * 2 * 5
    assert set(found["trace"][0]) == {"method", "seed", "round", "chosen", "chosen_keys", "accuracy"}


def test_the_figures_of_the_json_follow_from_its_trace(played):
    _, found = played
    for name, one in found["methods"].items():
        for place, seed in enumerate(found["seeds"]):
            curve = [row["accuracy"] for row in found["trace"] if (row["method"], row["seed"]) == (name, seed)]
            assert one["final_accuracy"]["per_seed"][place] == curve[-1]
            reached = [t for t, accuracy in enumerate(curve, start=1) if accuracy >= found["target"]]
            assert one["rounds_to_target"]["per_seed"][place] == (reached[0] if reached else None)


def test_a_target_that_is_never_reached_is_null(blobs, tmp_path, capsys):
    (tmp_path / "tiny.toml").write_text(tiny.text(blobs, rounds=2))
    line = f"compare {tmp_path / 'tiny.toml'} --target 1.0 --jobs 1 --out {tmp_path / 'run'} --methods uniform --json -"
    found = said(line, capsys)["methods"]["uniform"]["rounds_to_target"]
    assert found == {"mean": None, "sd": None, "per_seed": [None], "low": None, "high": None}


def test_what_a_run_leaves(played):
    store, _ = played
    names = {path.name for path in store.folder.iterdir()}
    tables = {"rounds.parquet", "decisions.parquet", "timings.parquet"}
    assert {"experiment.toml", "environment.json", "report.html", "partitions", "cells", *tables} <= names


def test_the_stored_file_reproduces_the_run(played, tmp_path):
    store, _ = played
    line = ["compare", str(store.experiment), "--out", str(tmp_path / "again"), "--jobs", "1"]
    assert main(line) == 0
    again = Store(tmp_path / "again")
    assert again.experiment.read_bytes() == store.experiment.read_bytes()
    assert tiny.tables(again) == tiny.tables(store)


def test_show_config_is_the_file_that_is_stored(played, capsys):
    store, _ = played
    assert main(["compare", str(store.experiment), "--show-config"]) == 0
    assert capsys.readouterr().out == store.experiment.read_text()


def test_resume_of_a_finished_run_shows_it_again(played, capsys):
    store, before = played
    found = said(f"resume {store.folder} --json -", capsys)
    assert found == before


def test_report_of_one_and_of_several(played, tmp_path, capsys):
    store, before = played
    assert main(["report", str(store.folder), str(store.folder), "--out", str(tmp_path / "both.html")]) == 0
    page = (tmp_path / "both.html").read_text()
    assert all(f"run: {name}" in page for name in tiny.METHODS)
    capsys.readouterr()
    assert said(f"report {store.folder} --json -", capsys)["runs"][str(store.folder)] == before


def test_ctrl_c_stops_after_the_round_and_leaves_a_run_that_resumes(blobs, played, tmp_path):
    store, _ = played
    (tmp_path / "tiny.toml").write_text(tiny.text(blobs, seeds=(1, 2), rounds=4000))
    line = [sys.executable, "-c", "import sys; from coterie.cli import main; sys.exit(main(sys.argv[1:]))"]
    line += ["compare", str(tmp_path / "tiny.toml"), "--out", str(tmp_path / "run"), "--jobs", "1"]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    stopped = Store(tmp_path / "run")
    progress = stopped.folder / "cells" / "power-of-choice-seed-1" / "progress"
    deadline = time.monotonic() + 120
    while not progress.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "coterie resume" in err
    assert "Traceback" not in err
    assert not stopped.complete
    shorter = stopped.experiment.read_text().replace("rounds = 4000", "rounds = 5")
    assert shorter == store.experiment.read_text()


def test_methods(capsys):
    found = said("methods --json -", capsys)["methods"]
    assert {"uniform", "oort"} <= {one["name"] for one in found}
    assert all(one["summary"] for one in found)
    one = said("methods oort --json -", capsys)
    assert {"name", "summary", "source", "parameters"} == set(one)
    assert {"name", "default", "allowed", "meaning"} == set(one["parameters"][0])


def test_partition(tmp_path, capsys):
    found = said(f"partition --scheme shards --shards 1 --clients 20 --seed 3 --out {tmp_path / 'p.npz'} --json -", capsys)
    assert {"clients", "entropy", "sparsity", "js", "empty_clients", "size_gini", "seconds"} <= set(found)
    assert (found["clients"], found["empty_clients"], found["settings"]) == (20, 0, {"per_client": 1})
    from coterie.data import Partition, Shards, load

    kept, made = Partition.load(tmp_path / "p.npz"), Shards(1).split(load("digits"), 20, 3)
    assert kept.order.tolist() == made.order.tolist()


def test_data(capsys):
    found = said("data --json -", capsys)["datasets"]
    assert next(one for one in found if one["name"] == "digits")["where"] == "built in"
    assert said("data get digits --json -", capsys) == {"name": "digits", "where": "built in"}


def test_reproduce_lists_what_there_is(capsys):
    assert "reproductions" in said("reproduce --json -", capsys)


def test_json_holds_no_nan():
    from coterie.cli.said import _clean

    assert _clean({"a": [float("nan"), (float("inf"), 1.0)]}) == {"a": [None, [None, 1.0]]}


def test_a_partition_file_is_the_same_federation_in_compare(tmp_path, capsys):
    file = tmp_path / "p.npz"
    said(f"partition --scheme shards --clients 10 --seed 3 --out {file} --json -", capsys)
    assert main(["compare", "--partition", str(file), "--clients", "10", "--seeds", "1,2", "--show-config"]) == 0
    assert 'scheme = "saved"' in capsys.readouterr().out
    assert main(["compare", "--partition", str(file), "--clients", "11", "--out", str(tmp_path / "run")]) == 2
    assert "has 10 clients, not 11" in capsys.readouterr().err


def test_a_partition_that_meets_a_target_and_its_picture(tmp_path, capsys):
    plot = tmp_path / "p.png"
    found = said(f"partition --scheme dirichlet --clients 20 --target entropy=1.2 --plot {plot} --json -", capsys)
    assert found["reached"]
    assert abs(found["entropy"] - 1.2) < 0.05
    assert found["misses"]["entropy"] == pytest.approx(found["entropy"] - 1.2)
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_partitions_beside_each_other(tmp_path, capsys):
    said(f"partition --scheme shards --clients 20 --out {tmp_path / 'kept.npz'} --json -", capsys)
    line = f"partition --scheme two-level --clusters 3 --clients 20 --beside iid,two-level,{tmp_path / 'kept.npz'}"
    found = said(f"{line} --plot {tmp_path / 'p.svg'} --json -", capsys)
    names = ["two-level, as set", "iid", "two-level", str(tmp_path / "kept.npz")]
    assert list(found["beside"]) == names
    assert found["beside"][names[0]]["entropy"] == found["entropy"] < found["beside"]["iid"]["entropy"]
    assert found["beside"][names[3]]["sparsity"] == said("partition --scheme shards --clients 20 --json -", capsys)["sparsity"]
    assert "Gini of sizes" in (tmp_path / "p.svg").read_text()
    assert main([*line.split()]) == 0
    assert "two-level, as set" in capsys.readouterr().out


COMMANDS = ("compare", "partition", "report", "resume", "reproduce", "bench", "methods", "data get", "market demo")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_plain(command, capsys):
    assert main([*command.split(), "--help"]) == 0
    said = capsys.readouterr().out
    assert "Usage: coterie" in said and "\\" not in said
