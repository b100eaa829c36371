import os
import subprocess
import sys

import pandas as pd
import pytest

from coterie import rooms
from coterie.aggregators import Mean
from coterie.rooms import ROOMS, added, kebab, rules
from coterie.selectors import PowerOfChoice, Uniform


class Point:
    """An entry point of a package that is not installed here."""

    def __init__(self, name, thing):
        self.name, self.thing, self.value, self.group = name, thing, f"{name}:{name}", "coterie.selectors"

    def load(self):
        if isinstance(self.thing, Exception):
            raise self.thing
        return self.thing


class Mine(Uniform):
    """A stranger's."""


@pytest.fixture
def installed(monkeypatch):
    points = []
    monkeypatch.setattr(rooms, "entry_points", lambda group: points if group == "coterie.selectors" else [])
    rules.cache_clear()
    yield points
    rules.cache_clear()


def test_names_are_those_of_the_files():
    assert rules("selectors")["power-of-choice"] is PowerOfChoice
    for room, kind in ROOMS.items():
        for name, rule in rules(room).items():
            assert issubclass(rule, kind)
            assert name == kebab(rule.__module__) or name == kebab(rule.__name__)


def test_every_rule_that_a_room_exports_has_a_name():
    for room, kind in ROOMS.items():
        module = __import__(f"coterie.{room}", fromlist=["*"])
        exported = [getattr(module, name) for name in module.__all__]
        ours = {thing for thing in exported if isinstance(thing, type) and issubclass(thing, kind)}
        assert ours == set(rules(room).values())


def test_packages_add_rules(installed):
    installed.append(Point("mine", Mine))
    assert rules("selectors")["mine"] is Mine
    assert "mine" not in rules("aggregators")


def test_packages_do_not_replace_rules(installed):
    installed.append(Point("uniform", Mine))
    assert rules("selectors")["uniform"] is Uniform


@pytest.mark.parametrize(
    ("thing", "message"),
    [(ImportError("no such module"), "does not load: no such module"), (Mean, "is no rule for"), (7, "is no rule")],
)
def test_what_does_not_load_or_fit_is_left_out_with_a_warning(installed, thing, message):
    installed.append(Point("odd", thing))
    with pytest.warns(UserWarning, match=message):
        assert "odd" not in rules("selectors")


def test_recipes_are_a_group_too(monkeypatch):
    monkeypatch.setattr(rooms, "entry_points", lambda group: [Point("whole", len)])
    assert added("recipes", callable) == {"whole": len}


STRANGER = '''
from dataclasses import dataclass
from coterie.rules import Selector

@dataclass(frozen=True)
class FirstComers(Selector):
    """Trains those who come first in the list."""

    per_round: int = 2

    def choose(self, view, state):
        return view.present[: self.per_round]
'''


def test_a_package_that_is_installed_adds_a_method_to_the_program(tmp_path):
    site = tmp_path / "site"
    facts = site / "first_comers-1.0.dist-info"
    facts.mkdir(parents=True)
    (site / "first_comers.py").write_text(STRANGER)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: first-comers\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[coterie.selectors]\nfirst-comers = first_comers:FirstComers\n")
    run = "compare --dataset digits --clients 10 --methods uniform,first-comers --rounds 2 --seeds 1 --per-round 2 --jobs 1"
    done = subprocess.run(
        [sys.executable, "-c", "from coterie.cli import main; main()", *run.split(), "--out", str(tmp_path / "run")],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    rounds = pd.read_parquet(tmp_path / "run" / "rounds.parquet")
    chosen = rounds[rounds["method"] == "first-comers"]["chosen"]
    assert [list(one) for one in chosen] == [[0, 1], [0, 1]]
