import io
from itertools import pairwise

import pytest
from rich.console import Console

from coterie.cli import tables


def summary(mean, reach=None, per_seed=(1.0, 2.0)):
    low, high = (None, None) if mean is None or reach is None else (mean - reach, mean + reach)
    return {"mean": mean, "low": low, "high": high, "per_seed": [None] * 2 if mean is None else list(per_seed)}


def found(accuracy=0.8123, trained=None):
    figures = ("final_accuracy", "last_fifth_accuracy", "client_accuracy", "worst_decile")
    return {
        **{name: summary(accuracy, 0.05) for name in figures},
        "client_accuracy_trained": summary(trained, 0.01),
        "client_accuracy_personal": summary(None),
        "loss": summary(0.5, 0.1),
        "rounds_to_target": summary(12.0, per_seed=(10.0, 14.0)),
        "bytes_to_target": summary(12.0, per_seed=(10e6, None)),
        "bytes_up": 1e9,
        "bytes_down": 2e9,
        "bytes_between": 0.0,
        "seconds_per_round": 0.0123,
    }


def document(**methods):
    paired = {"difference": summary(0.0123, 0.02), "p_holm": 0.04}
    return {
        "methods": methods,
        "seeds": [1, 2],
        "target": 0.7,
        "baseline": "uniform",
        "paired": {"last_fifth_accuracy": dict.fromkeys(list(methods)[1:], paired)},
    }


def printed(document, width):
    console = Console(width=width, file=io.StringIO(), highlight=False)
    console.print(tables.of_run(document, width))
    return console.file.getvalue()


@pytest.mark.parametrize("width", range(60, 190, 3))
def test_nothing_is_cut_or_folded_on_any_screen(width):
    text = printed(document(uniform=found(), **{"power-of-choice": found(0.9)}), width)
    lines = [line for line in text.splitlines() if line.startswith((" uniform", " power-of-choice"))]
    assert len(lines) == 2 and "…" not in text and len(text.splitlines()) == 8 and len(lines[0].split()) >= 5
    assert "81.2 ± 5.0" in lines[0] and "+1.2 (p 0.040)" in lines[1]


def test_wider_screens_show_more_and_the_widest_all():
    shown = [printed(document(uniform=found(), oort=found()), width) for width in (60, 80, 110, 160)]
    assert all(len(one.splitlines()[3].rstrip()) < len(other.splitlines()[3].rstrip()) for one, other in pairwise(shown))
    assert "a round" not in shown[0] and "a round" in shown[-1] and "to 0.7" in shown[0]


def test_columns_in_which_nobody_has_a_value_are_left_out():
    assert "own" not in printed(document(uniform=found()), 200)
    personal = printed(document(uniform=found(), gossip=found(trained=0.6)), 200)
    assert "own training" in personal and "60.0 ± 1.0" in personal and "–" in personal


def test_where_the_models_are_personal_clients_come_first():
    assert "in the mean" in printed(document(uniform=found(), gossip=found(trained=0.6)), 80)


def test_who_reached_the_target_on_some_seeds_only_is_counted():
    text = printed(document(uniform=found()), 200)
    assert "12" in text and "10.0 MB (1 of 2)" in text


def test_a_regression_shows_its_loss():
    text = printed(document(uniform=found() | {"final_accuracy": summary(None)}), 80)
    assert "0.5 ± 0.1" in text and "Test loss" in text and "fifth" not in text
