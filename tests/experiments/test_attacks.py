import json
import math
from dataclasses import replace
from time import perf_counter

import numpy as np
import pytest

from coterie.cli import main
from coterie.experiments.attacks import NAMES, Row, Suite, document, rows
from coterie.experiments.attacks.cells import BELIEVE, METHODS, Task, few
from coterie.experiments.attacks.scoring import mean, ratio, share, wilson
from coterie.experiments.attacks.suite import COPIERS, FREE_RIDERS, POISON
from coterie.experiments.attacks.words import trust_error
from coterie.simulation.attacks import ATTACKS

TINY = Task(samples=400, tests=200, clients=20, cohort=20, rounds=11, model="linear", per_round=4)


def measured(attack, task=TINY, seeds=(1,), **settings):
    suite = Suite(task, (attack,), seeds, **{"alphas": (0.5,), **settings})
    return {(row.where, row.what): row for row in rows(suite)}


@pytest.mark.parametrize("attack", [*FREE_RIDERS, "nan"])
def test_the_audit_finds_them_and_a_suite_without_it_says_so(attack):
    found, planted = measured(attack, seeds=(1, 2)), measured(attack, replace(TINY, audit=None))
    where = "Dirichlet 0.5"
    assert found[where, "found"].value == 1.0
    assert found[where, "selections"].value == 0.0
    assert found[where, "selections"].kept == "yes"
    assert planted[where, "selections"].value > 0.1
    assert planted[where, "excluded"].value == 0
    if attack != "nan":  # the door finds these by itself
        assert planted[where, "found"].value == 0.0
    if attack in FREE_RIDERS:
        assert planted[where, "found"].kept == "no"


def test_a_poison_that_nobody_stops_breaks_its_promise():
    where, what = "Dirichlet 0.5", "against calm"
    stopped, free = (measured("norm", task, (1, 2))[where, what] for task in (TINY, replace(TINY, audit=None)))
    assert stopped.value > -0.2
    assert free.value < stopped.value - 0.1
    assert free.kept != "yes"


def test_liars_are_chosen_more_often_unless_audited(monkeypatch):
    monkeypatch.setitem(BELIEVE, "false-size", ("volume-contribution",))
    found = measured("false-size", replace(TINY, rounds=20), lies=(10.0,))
    loud, quiet = (found[where, "chosen, lie ×10"] for where in ("volume-contribution", "volume-contribution, audited"))
    assert loud.bar is None
    assert quiet.bar == 1.1
    assert loud.value > 1.2 > 1.1 > quiet.value
    planted = measured("false-size", replace(TINY, audit=None, rounds=20), lies=(10.0,))
    assert [(row.bar, row.value > 1.2) for row in planted.values()] == [(1.1, True)]


def test_words_move_a_mean_by_the_liars_and_a_median_not_at_all():
    good, bad = np.array([8, 0]), np.array([0, 8])
    who = np.arange(40) < 10
    met = np.where(who[:, None], bad, good)
    for slander, far in (("bad-mouthing", 0.9), ("ballot-stuffing", 0.9)):
        moved = trust_error(slander, met, who, 0.3, 1, "mean")
        assert moved == pytest.approx(0.3 * far / 2, rel=0.1)
        assert trust_error(slander, met, who, 0.3, 1, "median") == 0
        assert trust_error(slander, met, who, 0.6, 1, "median") > 0.1
        assert trust_error(slander, met, who, 0.0, 1, "mean") == 0


@pytest.mark.parametrize(("hits", "of"), [(0, 5), (3, 7), (400, 400), (1, 1000)])
def test_wilsons_ends_are_where_a_share_just_fits(hits, of):
    """The ends solve |p − hits/of| = z √(p(1−p)/of)."""
    for end in wilson(hits, of):
        assert abs(end - hits / of) == pytest.approx(1.959964 * math.sqrt(max(end * (1 - end), 0) / of), abs=1e-6)
    low, high = wilson(hits, of)
    assert low <= hits / of <= high


def test_means_and_ratios_and_their_intervals():
    assert mean([1.0, 2.0, 3.0])[0] == 2.0
    assert mean([1.0, 2.0, 3.0])[2] == pytest.approx(2 + 4.302653 / math.sqrt(3))
    assert mean([4.0]) == (4.0, None, None)
    assert mean([]) == share([], []) == ratio([1, 2], [0, 0]) == (None, None, None)
    middle, low, high = ratio([30, 10, 20], [10, 10, 10])
    assert (middle, low < 2 < high) == (2.0, True)
    assert ratio([1, 1], [1, 0]) == (2.0, None, None)


@pytest.mark.parametrize(
    ("value", "low", "high", "bar", "at_least", "kept"),
    [
        (0.999, 0.991, 1.0, 0.99, True, "yes"),
        (0.999, 0.95, 1.0, 0.99, True, "open"),
        (0.9, 0.85, 0.95, 0.99, True, "no"),
        (0.0, 0.0, 0.01, 0.02, False, "yes"),
        (0.03, 0.01, 0.04, 0.02, False, "open"),
        (1.5, 1.2, 1.8, 1.1, False, "no"),
        (1.0, None, None, 1.1, False, None),
        (1.0, 1.0, 1.0, None, False, None),
    ],
)
def test_a_promise_is_kept_by_the_whole_interval(value, low, high, bar, at_least, kept):
    assert Row("a", "b", "c", value, low, high, bar, at_least).kept == kept


def test_everything_that_is_promised_is_in_the_suite():
    assert set(ATTACKS) == set(NAMES) - {"bad-mouthing", "ballot-stuffing"}
    assert {*FREE_RIDERS, *COPIERS, *POISON, *BELIEVE} < set(NAMES)
    assert {name for names in BELIEVE.values() for name in names} == set(METHODS)


def test_the_dataset_is_cut_to_size_and_the_document_is_plain():
    assert len(few(TINY)) == 400
    suite = Suite(TINY, ("noise",), (1,), (0.5,))
    found = list(rows(suite))
    made = document(suite, found, perf_counter())
    assert json.loads(json.dumps(made))["rows"][0]["attack"] == "noise"
    assert sum(made["kept"].values()) <= len(found)


def test_the_command(capsys, tmp_path):
    file = tmp_path / "found.json"
    assert main(["bench", "attacks", "--attack", "ballot-stuffing", "--seeds", "1", "--rounds", "11", "--json", str(file)]) == 0
    found = json.loads(file.read_text())["attacks"]
    assert {(row["attack"], row["what"]) for row in found["rows"]} == {("ballot-stuffing", "trust error")}
    assert found["seeds"] == [1]
    said = capsys.readouterr().out
    assert "promised" in said
    assert "Of the promises 1 are kept" in said or "Of the promises 0 are kept" in said


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("bench attacks --attack nose", "did you mean 'noise'"),
        ("bench attacks --seeds many", "--seeds: must be a number"),
        ("bench attacks --seeds 0", "--seeds: must be a number"),
        ("bench attacks --rounds 10", "--rounds: must be above 10"),
        ("bench attacks --dataset digit", "--dataset"),
        ("bench attacks mlp", "measured by itself"),
        ("bench mlp --seeds 3", "are of `coterie bench attacks`"),
    ],
)
def test_bad_input_is_refused(line, says, capsys):
    assert main(line.split()) == 2
    assert says in capsys.readouterr().err
