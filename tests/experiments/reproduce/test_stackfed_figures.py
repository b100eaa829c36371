import numpy as np
import pytest

from coterie import data
from coterie.experiments.problems import BadInputError
from coterie.experiments.reproduce import Options, stackfed_figures
from coterie.experiments.reproduce._beside import Setting


def test_the_selected_are_judged_by_the_partition_that_they_trained_on(monkeypatch):
    tiny = Setting("tiny", {"dataset": "digits"}, {}, "accuracy")
    trace = [
        {"method": "a", "seed": 1, "round": t, "chosen": chosen} for t, chosen in [(1, [0]), (2, [3, 5]), (3, list(range(100)))]
    ] + [{"method": "b", "seed": 1, "round": 3, "chosen": [7]}]
    found = stackfed_figures.selected(tiny, trace, Options())
    counts = stackfed_figures.label_counts(tiny, 1, Options())
    dataset = data.load("digits")
    assert counts.sum() == len(dataset) and np.array_equal(counts.sum(axis=0), np.bincount(dataset.y))
    pooled = counts.sum(axis=0)
    assert found["a"]["class_diversity"]["mean"] == pytest.approx(pooled.min() / pooled.max())
    assert found["a"]["entropy_over_all"]["mean"] == pytest.approx(1)
    shares = counts[7] / counts[7].sum()
    assert found["b"]["entropy"]["mean"] == pytest.approx(-(shares[shares > 0] * np.log(shares[shares > 0])).sum())


def test_greedy_is_far_quicker_than_all_groups():
    found = stackfed_figures.timed(pool=24, quotas=(1, 4))
    assert found["1"]["share_of_best"] > 0.9 and 0.9 < found["4"]["share_of_best"] <= 1 + 1e-12
    assert found["4"]["greedy"] < found["4"]["exhaustive"] / 10


def test_unknown_settings_are_refused():
    with pytest.raises(BadInputError, match=r"q4.*q5.*time|setting"):
        stackfed_figures.run(Options(setting="q7"))
