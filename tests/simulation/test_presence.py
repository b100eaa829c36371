import json

import numpy as np
import pytest

from coterie.simulation import World, presence

ROUNDS = range(1, 401)


def shares(flags: np.ndarray) -> float:
    return float(flags.mean())


def test_random_presence_comes_at_its_rate_and_anew_each_round():
    there = np.stack([presence.at_random(3, t, 100, 0.7) for t in ROUNDS])
    assert shares(there) == pytest.approx(0.7, abs=0.01)
    assert abs(np.corrcoef(there[:-1].ravel(), there[1:].ravel())[0, 1]) < 0.02


@pytest.mark.parametrize(("availability", "stay"), [(0.5, 10.0), (0.8, 5.0), (0.3, 2.0), (1.0, 10.0)])
def test_markov_presence_has_the_availability_and_the_stay_that_were_asked_for(availability, stay):
    there = np.stack([presence.markov(5, t, 300, availability, stay) for t in ROUNDS])
    assert shares(there) == pytest.approx(availability, abs=0.02)
    if availability < 1:
        stays = there[1:][there[:-1]].mean()
        comes = there[1:][~there[:-1]].mean()
        assert stays == pytest.approx(1 - 1 / stay, abs=0.01)
        assert comes == pytest.approx(availability / (1 - availability) / stay, abs=0.01)
    np.testing.assert_array_equal(presence.markov(5, 77, 300, availability, stay), there[76])


def test_a_markov_chain_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="must stay at least 10 rounds in the mean, not 2"):
        World(presence="markov", availability=0.9, stay=2)


def test_a_day_rises_and_falls_around_the_availability():
    there = np.stack([presence.diurnal(2, t, 400, 0.4, 24, 1.0) for t in ROUNDS]).astype(float)
    assert shares(there) == pytest.approx(0.4, abs=0.01)
    by_hour = np.stack([there[hour::24].mean(axis=0) for hour in range(24)])
    assert by_hour.max(axis=0).mean() > 0.75
    assert by_hour.min(axis=0).mean() < 0.05
    assert np.ptp(by_hour.mean(axis=1)) < 0.15, "time zones spread the day"
    flat = np.stack([presence.diurnal(2, t, 400, 0.4, 24, 0.0) for t in ROUNDS])
    assert np.ptp(np.stack([flat[hour::24].mean() for hour in range(24)])) < 0.06


def test_traces_are_read_from_csv_and_json(tmp_path):
    (tmp_path / "a.csv").write_text("client,round\n0,1\n0,3\n1,2\n")
    (tmp_path / "b.csv").write_text("client,start,end\n0,1,1\n0,3,3\n1,2,2\n")
    (tmp_path / "c.json").write_text(
        json.dumps([{"client": 0, "start": 1, "end": 1}, {"client": 0, "round": 3}, {"client": "1", "round": 2}])
    )
    for name in ("a.csv", "b.csv", "c.json"):
        there = presence.read_trace(str(tmp_path / name), ("0", "1", "2"))
        assert there.astype(int).tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("client,round\n9,1\n", "entry 1 names client '9'"),
        ("client,round\n0,0\n", "rounds count from 1"),
        ("client,start,end\n0,5,2\n", "from round 5 to 2"),
        ("who,when\n0,1\n", "must name client and round"),
        ("client,round\n0,soon\n", "whole numbers"),
        ("client,start,end\n0,1,99999999999\n", "too many"),
    ],
)
def test_broken_traces_are_refused(tmp_path, text, says):
    (tmp_path / "trace.csv").write_text(text)
    with pytest.raises(ValueError, match=says):
        presence.read_trace(str(tmp_path / "trace.csv"), ("0", "1"))
    with pytest.raises(ValueError, match="no file"):
        presence.read_trace(str(tmp_path / "other.csv"), ("0", "1"))
    (tmp_path / "trace.json").write_text("{")
    with pytest.raises(ValueError, match="no trace file"):
        presence.read_trace(str(tmp_path / "trace.json"), ("0", "1"))
