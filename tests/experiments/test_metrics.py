import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from coterie.experiments import metrics


def rounds(accuracy, **columns):
    count = len(accuracy)
    base = {
        "round": np.arange(1, count + 1),
        "accuracy": accuracy,
        "bytes_up": np.full(count, 1),
        "bytes_down": np.full(count, 2),
        "bytes_between": np.full(count, 3),
        "simulated_seconds": np.full(count, 0.5),
    }
    return pd.DataFrame({**base, **columns})


CURVE = [0.1, 0.4, 0.3, 0.6, 0.5, 0.7, 0.6, 0.8, 0.9, 0.7]


def test_last_and_last_fifth():
    assert metrics.last_accuracy(rounds(CURVE)) == 0.7
    assert metrics.last_fifth(rounds(CURVE)) == pytest.approx((0.9 + 0.7) / 2)
    assert metrics.last_fifth(rounds([0.2, 0.4])) == 0.4


def test_rounds_that_were_not_evaluated_are_skipped():
    sparse = rounds([np.nan, 0.4, np.nan, 0.8, np.nan])
    assert metrics.last_accuracy(sparse) == 0.8
    assert metrics.area(sparse) == pytest.approx(0.6)
    assert metrics.rounds_to(sparse, 0.5) == 4


def test_first_crossing_in_rounds_bytes_and_seconds():
    table = rounds(CURVE)
    assert metrics.rounds_to(table, 0.6) == 4
    assert metrics.bytes_to(table, 0.6) == 4 * 6
    assert metrics.seconds_to(table, 0.6) == 2.0
    assert np.isnan(metrics.rounds_to(table, 0.95))


def test_area_is_the_mean_height_of_the_curve():
    assert metrics.area(rounds([0.5, 0.5, 0.5])) == pytest.approx(0.5)
    assert metrics.area(rounds([0.0, 1.0])) == pytest.approx(0.5)
    assert metrics.area(rounds([0.3])) == pytest.approx(0.3)


def test_clients_weighted_and_not_and_the_worst_tenth():
    each = [np.arange(20) / 20, np.arange(20) / 10 % 1]
    table = rounds([0.1, 0.2], client_accuracy=each)
    last = np.asarray(each[1])
    assert metrics.client_accuracy(table) == pytest.approx(last.mean())
    assert metrics.weighted_accuracy(table, np.arange(20)) == pytest.approx(np.average(last, weights=np.arange(20)))
    assert metrics.worst_decile(table) == pytest.approx(np.sort(last)[:2].mean())


def test_clients_without_test_data_are_left_out():
    table = rounds([0.1], client_accuracy=[np.array([0.5, np.nan, 1.0])])
    assert metrics.client_accuracy(table) == 0.75
    assert metrics.weighted_accuracy(table, [1, 100, 3]) == pytest.approx((0.5 + 3) / 4)
    assert np.isnan(metrics.client_accuracy(rounds([0.1])))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_jains_index_lies_between_one_nth_and_one(values):
    found = metrics.jain_index(values)
    assert 1 / len(values) - 1e-9 <= found <= 1 + 1e-9


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=20))
def test_the_interval_is_students(values):
    found = metrics.over_seeds(values)
    if found.sd and found.sd > 1e-6:
        low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
        assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))


def test_a_seed_without_a_value_leaves_no_mean():
    found = metrics.over_seeds([3.0, np.nan])
    assert found.per_seed == (3.0, None)
    assert found.mean is None
    assert metrics.over_seeds([3.0]).sd is None


def test_paired_differences_are_tested_as_pairs_and_corrected():
    values = {"base": [0.5, 0.6, 0.7], "better": [0.6, 0.72, 0.79], "alike": [0.51, 0.59, 0.7]}
    found = metrics.paired(values, "base")
    assert set(found) == {"better", "alike"}
    assert found["better"].difference.mean == pytest.approx(0.31 / 3)
    assert found["better"].p == pytest.approx(stats.ttest_rel(values["better"], values["base"]).pvalue)
    assert found["better"].p_holm == pytest.approx(2 * found["better"].p)
    assert found["alike"].p_holm == pytest.approx(found["alike"].p)


def test_nothing_is_tested_with_one_seed_or_without_values():
    assert metrics.paired({"base": [0.5], "other": [0.6]}, "base")["other"].p is None
    assert metrics.paired({"base": [0.5, np.nan], "other": [0.6, 0.7]}, "base")["other"].p is None


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), min_size=1, max_size=8))
def test_holms_correction_against_the_plain_twin(p_values):
    ordered = sorted(p_values.items(), key=lambda item: item[1])
    expected, highest = {}, 0.0
    for rank, (name, p) in enumerate(ordered):
        highest = max(highest, p * (len(ordered) - rank))
        expected[name] = min(highest, 1.0)
    assert metrics.holm(p_values) == pytest.approx(expected)


def test_accuracy_within_a_budget_of_bytes_is_that_of_the_last_rounds_that_it_pays_for():
    table = rounds(np.arange(1, 21) / 100)
    assert metrics.accuracy_within(table, 6 * 12) == pytest.approx(np.mean(np.arange(3, 13)) / 100)
    assert metrics.accuracy_within(table, 6 * 3 + 5) == pytest.approx(0.02)
    assert np.isnan(metrics.accuracy_within(table, 5))
    assert metrics.accuracy_within(rounds([0.1, np.nan, 0.3]), 12, window=1) == 0.1


def test_level_and_swing_of_some_rounds_or_nothing_where_they_were_not_all_played():
    table = rounds([0.1, 0.2, 0.4, 0.9])
    assert metrics.accuracy_between(table, 2, 3) == pytest.approx(0.3)
    assert metrics.swing(table, 2, 3) == pytest.approx(np.std([0.2, 0.4], ddof=1))
    assert np.isnan(metrics.accuracy_between(table, 3, 5)) and np.isnan(metrics.swing(table, 3, 5))


@given(st.lists(st.tuples(st.floats(1, 1e6), st.floats(1, 1e6)), min_size=1, max_size=8))
def test_a_ratio_is_geometric_and_lies_in_its_interval(pairs):
    ours, base = zip(*pairs, strict=True)
    found = metrics.ratio(ours, base, draws=200)
    assert found.mean == pytest.approx(np.prod(np.array(ours) / np.array(base)) ** (1 / len(pairs)))
    assert found.low <= found.mean * (1 + 1e-9) and found.mean <= found.high * (1 + 1e-9)
    assert found.won == sum(one < other for one, other in pairs)


def test_the_bootstrap_of_a_ratio_covers_as_it_says():
    dice = np.random.default_rng(1)
    found = [metrics.ratio(np.exp(dice.normal(0.3, 0.5, 20)), np.ones(20), draws=400) for _ in range(200)]
    covered = np.mean([one.low <= np.exp(0.3) <= one.high for one in found])
    assert 0.86 < covered <= 1.0


def test_what_never_came_counts_as_said_or_leaves_no_ratio():
    assert metrics.ratio([np.nan, 50], [100, 100]) is None
    assert metrics.ratio([], []) is None
    assert metrics.ratio([np.nan, 50], [100, 100], never=400).mean == pytest.approx(2**0.5)
