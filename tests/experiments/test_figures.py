import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from coterie.experiments import figures, metrics


def rounds(levels, chosen, **extra) -> pd.DataFrame:
    count = len(levels)
    columns = {
        "round": np.arange(1, count + 1),
        "accuracy": levels,
        "loss": [1.0] * count,
        "chosen": [np.array(chosen)] * count,
        "answered": [np.array(chosen)] * count,
        "bytes_up": 400,
        "bytes_down": 600,
        "bytes_between": 0,
        "up_model": 400,
        "down_model": 600,
        "simulated_seconds": 2.0,
        "seconds": 0.1,
        "client_accuracy": [np.array([0.2, 0.4, 0.9])] * count,
        **extra,
    }
    return pd.DataFrame(columns)


CELLS = {
    "uniform": {1: rounds([0.1, 0.5, 0.6], [0, 1]), 2: rounds([0.3, 0.3, 0.8], [0, 2])},
    "a <b> & c": {1: rounds([0.2, 0.6, 0.7], [0]), 2: rounds([0.4, 0.4, 0.4], [0])},
}


def test_curves_carry_the_mean_and_the_range_over_seeds():
    data = figures.learning(CELLS, "rounds", 0.55).data
    uniform = data[data["method"] == "uniform"]
    assert uniform["round"].tolist() == [1, 2, 3]
    np.testing.assert_allclose(uniform["mean"], [0.2, 0.4, 0.7])
    np.testing.assert_allclose(uniform["lowest"], [0.1, 0.3, 0.6])
    np.testing.assert_allclose(uniform["highest"], [0.3, 0.5, 0.8])


@pytest.mark.parametrize(("axis", "ends"), [("bytes", [0.001, 0.003]), ("time", [2.0, 6.0])])
def test_curves_against_what_was_spent(axis, ends):
    data = figures.learning(CELLS, axis, None).data
    np.testing.assert_allclose([data.iloc[0, 0], data.iloc[2, 0]], ends)


def test_a_round_without_evaluation_leaves_no_hole():
    gap = {"m": {1: rounds([0.1, np.nan, 0.5], [0])}}
    assert figures.learning(gap, "rounds", None).data["mean"].tolist() == [0.1, 0.5]
    never = {"m": {1: rounds([np.nan] * 3, [0])}}
    assert len(figures.learning(never, "rounds", None).data) == 0


def test_curves_of_long_runs_are_smoothed_by_the_mean_of_the_past():
    wave = np.tile([0.0, 1.0], 60)
    data = figures.learning({"m": {1: rounds(wave, [0])}}, "rounds", None).data
    assert set(data["smoothed_over_rounds"]) == {4}
    np.testing.assert_allclose(data["mean"].iloc[4:], 0.5)
    assert data["mean"].iloc[0] == 0


def test_a_seed_that_never_arrives_is_said():
    picture = figures.to_target(CELLS, 0.65)
    assert picture.data["rounds_to_target"].isna().tolist() == [True, False, False, True]
    assert picture.svg.count("1 of 2 never") == 2


def test_participation_is_measured_in_fair_shares():
    data = figures.participation(CELLS, 3).data
    assert data[data["method"] == "uniform"]["times_fair_share"].tolist() == [0, 1.5, 1.5]
    assert data[data["method"] != "uniform"]["times_fair_share"].tolist() == [0, 0, 3]


def test_all_kinds_of_bytes_are_shown_even_if_one_method_lacks_one():
    cells = {**CELLS, "asks": {1: rounds([0.1] * 3, [0], up_loss=8)}}
    data = figures.crossing(cells).data.set_index("method")
    assert data.loc["asks", "up_loss"] == 24
    assert data.loc["uniform", "up_loss"] == 0
    assert data.loc["uniform", "down_model"] == 1800


def test_pictures_are_well_formed_whatever_methods_are_called():
    paired = metrics.paired({"uniform": [0.1, 0.2], "a <b> & c": [0.2, 0.2]}, "uniform")
    made = [
        figures.learning(CELLS, "rounds", 0.5),
        figures.to_target(CELLS, 0.5),
        figures.differences(paired, "uniform", list(CELLS)),
        figures.participation(CELLS, 3),
        figures.fairness(CELLS, 3),
        figures.crossing(CELLS),
    ]
    for picture in made:
        assert ET.fromstring(picture.svg).tag.endswith("svg")
        assert picture.png[:4] == b"\x89PNG"
    assert len({picture.name for picture in made}) == len(made)


def test_the_same_run_gives_the_same_picture():
    assert figures.fairness(CELLS, 3).svg == figures.fairness(CELLS, 3).svg
    assert figures.fairness(CELLS, 3).png == figures.fairness(CELLS, 3).png


def test_methods_keep_their_color():
    assert figures.colors(["a", "b"])["b"] == figures.colors(["x", "b"])["b"]


def test_embeddings_are_drawn_with_the_labels_that_clients_hold_most():
    dice = np.random.default_rng(1)
    labels = np.arange(30) % 3
    rows = np.eye(3)[labels] + 0.05 * dice.normal(size=(30, 3))
    picture = figures.embeddings("a: b", figures.Embedded(rows, labels, seed=4, round=9))
    assert picture.name == "embeddings-a-b" and "Seed 4, after round 9" in picture.caption and "100%" in picture.caption
    assert picture.data["label"].tolist() == labels.tolist()
    centers = picture.data.groupby("label")[["x", "y"]].mean().to_numpy()
    apart = np.linalg.norm(picture.data[["x", "y"]].to_numpy()[:, None] - centers, axis=2)
    assert (apart.argmin(axis=1) == labels).all()
    ET.fromstring(picture.svg)
    assert "label" not in figures.embeddings("m", figures.Embedded(rows, None, 1, 1)).caption


def test_purity_of_random_embeddings_is_that_of_chance():
    dice = np.random.default_rng(1)
    found = figures.purity(dice.normal(size=(500, 5)), dice.integers(10, size=500))
    assert 0.03 < found < 0.2


def heard():
    """Four clients in two pairs; round 1 everybody hears everybody, round 3 each its twin."""
    truth = np.kron(np.eye(2), np.full((2, 2), 0.9)) + np.diag([0.1] * 4)
    everybody = [(1, i, j, 0.25) for i in range(4) for j in range(4)]
    twins = [(3, i, j, 0.5) for i in range(4) for j in (i, i ^ 1)]
    weights = pd.DataFrame(everybody + twins, columns=["round", "client", "heard", "weight"])
    return figures.Heard(pd.concat([weights.assign(seed=5), weights.assign(seed=6)]), {5: truth, 6: truth})


def test_likeness_of_the_heard_is_the_mean_over_the_weight_on_others():
    picture = figures.likeness({"b": heard()}, ["a", "b"])
    assert picture.data["round"].tolist() == [1, 3]
    np.testing.assert_allclose(picture.data["likeness"], [0.3, 0.9])
    assert figures.colors(["a", "b"])["b"] in picture.svg
    ET.fromstring(picture.svg)


def test_whom_clients_listen_to_is_drawn_with_the_like_side_by_side():
    one = heard()
    mixed = np.array([2, 0, 3, 1])  # twins are 0 and 2, 1 and 3
    truth = one.likeness[5][np.ix_(mixed, mixed)]
    order = figures.alike_together(truth)
    assert np.diag(truth[np.ix_(order, order)], 1).tolist() == [0.9, 0.0, 0.9]
    picture = figures.listening("m: x", one)
    assert picture.name == "listening-m-x" and "Seed 5" in picture.caption
    assert sorted(picture.data["round"].unique()) == [1, 3] and len(picture.data) == 16 + 8
    assert picture.svg.count("<image") == 3
    ET.fromstring(picture.svg)
