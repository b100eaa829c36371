from time import process_time

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs the extra coterie[flower]")

from coterie import catalog
from coterie.backbones import SGD
from coterie.federation import Steps
from coterie.flower import gauge
from coterie.flower.gauge import Gauge
from coterie.plan import USE
from coterie.recipe import play
from tests.flower.near import Near
from tests.flower.test_federation import NODES, app_of, joined
from tests.simulation.small import small


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


def test_fedtrust_goes_by_what_flower_s_clients_read_of_their_machines():
    simulation = small()
    near = Near(app_of(simulation), {node: {"partition-id": k} for k, node in enumerate(NODES)})
    known = {name: simulation.roster[name] for name in ("cpu", "ram", "bandwidth", "latency")}
    federation = joined(simulation, near, columns=known)
    recipe = catalog.fedtrust(threshold=0.0, backbone=SGD(Steps(epochs=1, batch_size=8)))
    records = list(play(recipe, federation, rounds=2))
    assert [record.meter.messages for record in records] == [1, 1]
    for record in records:
        assert ((record.facts["use_cpu"] > 0) & (record.facts["use_cpu"] <= 1)).all()
        assert ((record.facts["use_ram"] > 0) & (record.facts["use_ram"] < 1)).all()
        assert set(record.facts) == {"loss", "loss_rms", *USE}
        assert record.meter.up["telemetry"] == 8 * 6 * len(NODES)
    trust = records[-1].state["trust"].trust
    assert ((trust > 0) & (trust < 1)).all()
    assert np.isfinite(records[-1].state["trust"].use[:, :2, :2]).all()
