from time import process_time

import pytest

from coterie.flower import gauge
from coterie.flower.gauge import Gauge
from coterie.plan import USE


def busy(seconds):
    began = process_time()
    while process_time() - began < seconds:
        sum(range(1000))


def test_what_is_read_are_shares():
    used = Gauge()
    busy(0.05)
    read = used.use(USE)
    assert list(read) == sorted(USE)
    assert 0 < read["use_cpu"] <= 1
    assert 0 < read["use_ram"] < 1
    assert read["use_bandwidth"] == -1 or 0 <= read["use_bandwidth"] <= 1


def test_only_what_is_wanted_is_told():
    assert Gauge().use([]) == {}
    assert list(Gauge().use(["use_ram"])) == ["use_ram"]


def test_who_works_reads_more_than_who_sleeps(monkeypatch):
    clock = iter([0.0, 10.0, 0.0, 10.0])
    work = iter([1.0, 6.0, 1.0, 1.5])
    monkeypatch.setattr(gauge, "monotonic", lambda: next(clock))
    monkeypatch.setattr(gauge, "process_time", lambda: next(work))
    monkeypatch.setattr(gauge.os, "cpu_count", lambda: 2)
    assert Gauge().use(["use_cpu"]) == {"use_cpu": 0.25}
    assert Gauge().use(["use_cpu"])["use_cpu"] == pytest.approx(0.025)


def test_what_cannot_be_read_is_said(monkeypatch):
    monkeypatch.setattr(gauge, "psutil", None)
    read = Gauge().use(USE)
    assert (read["use_ram"], read["use_bandwidth"]) == (-1, -1)
    assert read["use_cpu"] >= 0
