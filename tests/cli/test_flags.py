import inspect

import pytest

from coterie.cli import flags
from coterie.cli.compare import compare
from coterie.data import SCHEMES
from coterie.experiments import reading
from coterie.federation import Steps
from coterie.settings import parameters_of
from coterie.simulation import World


def test_every_flag_is_an_option_of_compare_and_sets_a_key_that_there_is():
    options = inspect.signature(compare).parameters
    tables = {
        "partition": {"scheme", *(name for scheme in SCHEMES.values() for name in parameters_of(scheme))},
        "training": set(parameters_of(Steps)),
        "world": set(parameters_of(World)),
    }
    for name, path in flags.FLAGS.items():
        assert name in options
        known = tables[path[0]] if len(path) == 2 else set(reading.top_keys())
        assert path[-1] in known, name


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("oort.penalty", ("set", "oort", "penalty")),
        ("training.decay", ("training", "decay")),
        ("world.day", ("world", "day")),
        ("v1.2.penalty", ("set", "v1.2", "penalty")),
        ("penalty", None),
        ("oort.", None),
    ],
)
def test_where_a_setting_belongs(text, path):
    assert flags.path_of(text) == path


def test_the_flag_is_remembered():
    found = flags.overrides({"lr": 0.1, "rounds": None}, ["oort.penalty=2"])
    assert found == {("training", "lr"): ("--lr", 0.1), ("set", "oort", "penalty"): ("--set oort.penalty", 2)}
