from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd

from coterie.experiments import report
from tests.experiments.test_figures import CELLS


def material(**changed) -> report.Material:
    values = {
        "title": "Two methods <b>compared</b>",
        "cells": CELLS,
        "clients": 3,
        "sizes": {1: np.array([1, 1, 2]), 2: np.array([1, 1, 2])},
        "target": 0.65,
        "experiment": 'dataset = "digits" # <script>',
        "partition": {"entropy": 1.25},
        "reasons": pd.DataFrame([{"method": "uniform", "reason": "late", "count": 3}]),
        "environment": "{}",
        **changed,
    }
    return report.Material(**values)


class Links(HTMLParser):
    """Collects what a page would fetch or run."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []

    def handle_starttag(self, tag, attrs):
        here = dict(attrs)
        if tag in {"script", "link", "img", "iframe"}:
            self.fetched.append(tag)
        if tag == "a":
            self.fetched += [] if here["href"].startswith("data:") else [here["href"]]


def test_one_file_that_needs_nothing_else(tmp_path: Path):
    file = report.write(material(), tmp_path / "report.html")
    text = file.read_text()
    links = Links()
    links.feed(text)
    assert links.fetched == []
    assert "@import" not in text
    assert "Two methods &lt;b&gt;compared&lt;/b&gt;" in text
    assert "&lt;script&gt;" in text


def test_every_figure_is_also_a_file_and_data(tmp_path: Path):
    report.write(material(), tmp_path / "report.html")
    names = {path.stem for path in (tmp_path / "figures").iterdir()}
    assert names == {picture.name for picture in report.pictures(material())}
    for name in names:
        assert len(pd.read_csv(tmp_path / "figures" / f"{name}.csv"))
        assert (tmp_path / "figures" / f"{name}.png").stat().st_size > 1000
        assert (tmp_path / "figures" / f"{name}.svg").stat().st_size > 1000


def test_the_table_says_who_never_arrived_and_weighs_clients_by_size():
    uniform, other = report.rows(material())
    assert uniform["rounds"] == "3 (1 of 2)"
    assert other["rounds"] == "3 (1 of 2)"
    assert report.rows(material(target=0.99))[0]["rounds"] == "never"
    assert uniform["clients"].startswith("50.0")
    assert uniform["weighted"].startswith("60.0")


def test_differences_are_paired_by_seed():
    _, other = report.rows(material())
    assert other["difference"].startswith("-15.0 [")
    alone = {"uniform": CELLS["uniform"], "late": {2: CELLS["a <b> & c"][2]}}
    assert report.rows(material(cells=alone))[1]["difference"] == "-40.0"


def test_one_method_without_target_or_client_scores_is_a_report_too(tmp_path: Path):
    bare = {"only": {1: CELLS["uniform"][1].drop(columns="client_accuracy")}}
    text = report.write(material(cells=bare, target=None), tmp_path / "report.html").read_text()
    assert "minus only" not in text
    assert "to target" not in text


def test_a_quiet_world_is_said_to_be_quiet():
    empty = pd.DataFrame(columns=["method", "reason", "count"])
    quiet = material(reasons=empty)
    assert "every answer was used" in report.render(quiet, [])
    assert "late" in report.render(material(), [])


def test_who_holds_what_and_who_is_with_whom_are_drawn_where_they_are_known():
    grouped = {1: CELLS["uniform"][1].assign(coalitions=[np.array([0, 0, 1])] * 3)}
    names = [one.name for one in report.pictures(material(cells={"a": grouped}, holdings=np.eye(3, dtype=int)))]
    assert "coalitions-a" in names and "holdings" in names
    assert "holdings" not in [one.name for one in report.pictures(material())]
