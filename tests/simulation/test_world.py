import numpy as np
import pytest

from coterie.aggregators import BySize
from coterie.backbones import SGD
from coterie.federation import Steps
from coterie.plan import Plan
from coterie.recipe import Central
from coterie.simulation import World
from coterie.simulation.world import Reality
from tests.simulation.small import These, played, small

ONCE = SGD(Steps(epochs=1, batch_size=10))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"presence": "sometimes"}, "presence must be one of"),
        ({"availability": 1.2}, "availability must be in"),
        ({"availability": float("nan")}, "availability must be in"),
        ({"devices": "fast"}, "devices must be one of"),
        ({"speed": 0.0}, "speed must be a finite number above 0"),
        ({"bandwidth_spread": -1.0}, "bandwidth_spread must be"),
        ({"jitter": float("inf")}, "jitter must be"),
        ({"stay": 0.5}, "stay must be"),
        ({"day": 0}, "day must be"),
        ({"recovery": -1}, "recovery must be"),
        ({"recovery": 1.5}, "recovery must be"),
        ({"coupling": float("nan")}, "coupling must be"),
        ({"fail_before": 0.6, "fail_after": 0.6}, "at most 1"),
        ({"presence": "trace"}, "trace must be the path"),
        ({"devices": "table"}, "table must be the path"),
        ({"broken_rate": 2.0}, "broken_rate must be"),
        ({"lazy_rounds": -0.1}, "lazy_rounds must be in"),
        ({"lazy_use": 0.9}, r"lazy_use must be in \(0, 0.7\]"),
        ({"hiccups": 2}, "hiccups must be in"),
        ({"broken": ("strange",)}, "strange"),
        ({"broken": ()}, "none"),
    ],
)
def test_impossible_worlds_are_refused_by_name(wrong, says):
    with pytest.raises(ValueError, match=says):
        World(**wrong)


def test_availability_alone_means_random_presence():
    assert World().presence == "always"
    assert World(availability=0.5).presence == "random"
    assert World(availability=0.5, presence="diurnal").presence == "diurnal"


@pytest.mark.parametrize("presence", ["random", "markov", "diurnal"])
def test_presence_reaches_the_view(presence):
    world = World(presence=presence, availability=0.6)
    reality = Reality(world, tuple(map(str, range(200))), np.full(200, 9), 1)
    assert np.mean([len(reality.present(t)) for t in range(1, 200)]) == pytest.approx(120, abs=4)
    federation = small(world=world)
    assert federation.view(3).present.tolist() == federation.reality.present(3).tolist()


def test_a_trace_starts_over_after_its_end(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("client,round\n0,1\n5,2\n")
    federation = small(world=World(presence="trace", trace=str(path)))
    assert [federation.view(t).present.tolist() for t in (1, 2, 3, 4)] == [[0], [5], [0], [5]]


def test_the_clock_is_the_slowest_reply_and_does_not_sleep():
    world = World(devices="alike", speed=10.0, bandwidth=1000.0)
    federation = small(world=world)
    records = played(Central(ONCE, BySize(), These((0, 3))), federation, 2)
    slowest = 24 / 10 + 2 * 4 * federation.layout.size / 1000
    assert [record.duration for record in records] == pytest.approx([slowest] * 2)
    assert federation.clock == pytest.approx(2 * slowest)
    assert sum(record.seconds for record in records) < slowest


def test_questions_take_time_too():
    federation = small(world=World(devices="alike", speed=10.0, bandwidth=1000.0))
    view = federation.view(1)
    view.ask.losses([0, 3, 3], split="train")
    replies = federation.train(Plan.star([1], ONCE))
    asked = 24 / 3 / 10 + (4 * federation.layout.size + 8) / 1000
    assert replies.duration == pytest.approx(asked + 16 / 10 + 2 * 4 * federation.layout.size / 1000)


def test_devices_are_columns_of_the_roster():
    federation = small(world=World(devices="by-size", speed_spread=0.0, speed=100.0))
    sizes = federation.roster["size"]
    np.testing.assert_allclose(federation.roster["speed"], 100 * sizes / sizes.mean())
    assert federation.roster["bandwidth"].shape == (6,)


def test_jitter_changes_a_clients_time_from_round_to_round():
    recipe = Central(ONCE, BySize(), These((0,)))
    steady = {record.duration for record in played(recipe, small(), 4)}
    shaky = {record.duration for record in played(recipe, small(world=World(jitter=0.5)), 4)}
    assert (len(steady), len(shaky)) == (1, 4)


def test_what_happened_can_be_read():
    federation = small(world=World(availability=0.5, fail_during=0.3, broken_rate=0.2, broken=("nan",)))
    records = played(Central(ONCE, BySize(), These(tuple(range(6)), stubborn=True)), federation, 60)
    told = federation.happened()
    assert (told.rounds, told.asks) == (60, 360)
    assert told.answered == sum(len(record.answered) for record in records)
    assert told.unanswered["absent"] == sum(6 - len(record.available) for record in records)
    assert told.unanswered["rejected"] == sum(len(record.rejected) for record in records)
    assert sum(told.unanswered.values()) == 360 - told.answered
    missing = 100 * (1 - told.answered / 360)
    assert f"{missing:.0f} % of asks unanswered" in str(told)
    assert "% absent" in str(told)
    assert "% failed during training" in str(told)
