"""Same seed, same bytes: for every method, whatever the number of workers and the order in which replies arrive."""

import shutil
from dataclasses import dataclass, replace

import numpy as np
import pytest

from coterie.catalog import METHODS
from coterie.experiments.store import Store
from coterie.replies import admit
from coterie.rules import Selector
from coterie.simulation import closing
from tests.experiments import tiny
from tests.promises.how_many import many

SEEDS = many((1,), (1, 2, 3))
ROUNDS = many(3, 6)


@pytest.fixture(scope="module")
def blobs(tmp_path_factory):
    return tiny.dataset(tmp_path_factory.mktemp("data"))


def shuffled(plan, models, round, replies, **settings):
    """Replies arrive in any order."""
    arrived = list(replies)
    np.random.default_rng(round).shuffle(arrived)
    return admit(plan, models, round, arrived[::-1], **settings)


def unsorted(plan, models, round, replies, **settings):
    """A door that lays replies out as they arrive."""
    made = admit(plan, models, round, replies, **settings)
    order = np.arange(len(made))[::-1]
    facts = {name: values[order] for name, values in made.facts.items()}
    return replace(
        made,
        clients=made.clients[order],
        models=made.models[order],
        counts=made.counts[order],
        facts=facts,
        seconds=made.seconds[order],
    )


def twins(method, blobs, folder, monkeypatch, door=shuffled, workers=2, seeds=SEEDS):
    """The tables of a run, and of its twin with other workers and another door."""
    one = tiny.begin(blobs, folder / "one", methods=(method,), seeds=seeds, rounds=ROUNDS)
    other = Store(folder / "other")
    shutil.copytree(one.folder, other.folder)
    tiny.play(one, workers=1)
    monkeypatch.setattr(closing, "admit", door)
    tiny.play(other, workers=workers)
    return tiny.tables(one), tiny.tables(other)


@pytest.mark.parametrize("method", METHODS)
def test_neither_workers_nor_the_order_of_replies_show(method, blobs, tmp_path, monkeypatch):
    one, other = twins(method, blobs, tmp_path, monkeypatch)
    assert one == other


def test_a_door_that_does_not_sort_is_caught(blobs, tmp_path, monkeypatch):
    one, other = twins("fedavg", blobs, tmp_path, monkeypatch, door=unsorted, workers=1, seeds=(1,))
    assert one != other


@dataclass(frozen=True)
class Careless(Selector):
    """Throws dice that have no address."""

    per_round: int = 2

    def choose(self, view, state):
        return np.random.default_rng().choice(view.present, min(self.per_round, len(view.present)), replace=False)


def test_dice_without_a_seed_are_caught(blobs, tmp_path, monkeypatch):
    one, other = twins(f"{__name__}:Careless", blobs, tmp_path, monkeypatch, workers=1, seeds=(1, 2, 3))
    assert one != other
