"""The meter by hand: a model of 43 float32 numbers is 172 bytes here, a number by itself 8."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import sparse

from coterie.aggregators import BySize, Mean
from coterie.backbones import SGD
from coterie.federation import Steps, View
from coterie.plan import Coalitions, Plan
from coterie.probe import Probe
from coterie.recipe import Central, Peers
from coterie.replies import Meter
from coterie.simulation import World
from coterie.simulation.world import Reality
from tests.simulation.small import Hearing, These, played, small

ONCE = SGD(Steps(epochs=1))
MODEL = 4 * 43
TOLD = 8 * 3
"""Count, loss and root mean square of the loss."""
FOUR = (30, 20, 40, 10)


@dataclass(frozen=True)
class Wanting(These):
    wants: ClassVar[frozenset[str]] = frozenset({"loss_before", "loss_after"})


@dataclass(frozen=True)
class Asking(These):
    """Asks some clients for losses before it chooses."""

    asked: tuple[int, ...] = ()
    answers: list[Any] = field(default_factory=list)

    def choose(self, view: View, state: Any) -> np.ndarray:
        self.answers.append(view.ask.losses(self.asked))
        return super().choose(view, state)


def test_the_model_is_as_large_as_this_page_says():
    assert 4 * small().layout.size == MODEL


def test_star_pays_a_model_down_and_up():
    (record,) = played(Central(ONCE, BySize(), These((0, 2, 4))), small(), 1)
    assert record.meter == Meter(
        down={"model": 3 * MODEL}, up={"model": 3 * MODEL, "telemetry": 3 * TOLD}, between={}, evaluations=0, messages=3
    )


def test_a_model_that_was_sent_for_a_question_is_not_sent_again():
    (record,) = played(Central(ONCE, BySize(), Asking((0, 2, 4), asked=(1, 2, 4, 5))), small(), 1)
    assert record.meter.down == {"model": 5 * MODEL}
    assert record.meter.up == {"loss": 4 * 8, "model": 3 * MODEL, "telemetry": 3 * TOLD}
    assert (record.meter.evaluations, record.meter.messages) == (4, 7)


def test_wanted_facts_are_evaluations_and_eight_bytes_each():
    (record,) = played(Central(ONCE, BySize(), Wanting((0, 2))), small(), 1)
    assert record.meter.up == {"loss": 2 * 2 * 8, "model": 2 * MODEL, "telemetry": 2 * TOLD}
    assert record.meter.evaluations == 4
    assert set(record.facts) == {"loss", "loss_rms", "loss_before", "loss_after"}


def test_every_kind_of_question_has_its_price():
    federation = small()
    ask = federation.view(1).ask
    ask.losses([0, 1])
    ask.losses([0, 1], batch=4)
    assert federation.meter() == Meter({"model": 2 * MODEL}, {"loss": 4 * 8}, {}, evaluations=4, messages=4)
    ask.gradients([1, 2], part=federation.layout.head)
    assert federation.meter().up["gradient"] == 2 * 4 * 18
    assert federation.meter().down == {"model": 3 * MODEL}
    ask.label_counts([4])
    assert federation.meter().up["label counts"] == 8 * 3
    before = federation.meter()
    answers = ask.probe([3, 5], Probe(seed=1, directions=7, epsilon=2.0))
    assert answers.shape == (2, 7)
    assert federation.meter().up["probe"] == 2 * 7 * 8
    assert federation.meter().evaluations == before.evaluations + 2 * 8
    assert federation.meter().epsilon == 4.0


def test_models_among_replies_are_sent_to_those_who_did_not_train_them():
    federation = small()
    view = federation.view(1)
    replies = federation.train(Plan.star([0, 2], ONCE))
    before = federation.meter().down["model"]
    view.ask.losses([0, 2, 0, 3, 3], [0, 1, 1, 1, 1], among=replies)
    assert before == 2 * MODEL
    assert federation.meter().down["model"] - before == 2 * MODEL
    assert federation.meter().up["loss"] == 5 * 8


def test_peers_pay_between_themselves():
    hears = ((1, 1, 0, 0), (0, 1, 0, 0), (1, 1, 1, 0), (0, 0, 1, 0))
    (record,) = played(Peers(ONCE, Mean(), Hearing(hears)), small(FOUR), 1)
    assert record.meter == Meter(between={"model": 4 * MODEL, "telemetry": 4 * TOLD})


def test_a_peer_asks_about_its_own_model_and_about_those_it_hears_for_the_answer_alone():
    federation = small(FOUR)
    hears = sparse.csr_array(np.array([[1, 1, 0, 0], [0, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1]], bool))
    played(Peers(ONCE, Mean(), Hearing(tuple(map(tuple, hears.toarray().astype(int).tolist())))), federation, 1)
    view = federation.view(2)
    view.ask.gradients([0, 1, 2], [0, 1, 2])
    view.ask.losses([3, 3], [0, 3])
    plan = Plan(view.present, view.follows, hears, view.follows, ONCE, route="peers", follows=view.roster.ids)
    replies = federation.train(plan)
    assert federation.meter().between == {"gradient": 3 * MODEL, "loss": 2 * 8, "model": 5 * MODEL, "telemetry": 4 * TOLD}
    view.ask.losses([0, 2, 2], [1, 0, 1], among=replies)
    assert federation.meter().between["model"] == 5 * MODEL
    view.ask.losses([0, 1], [2, 2], among=replies)
    assert federation.meter().between["model"] == 7 * MODEL
    assert (federation.meter().bytes_down, federation.meter().bytes_up, federation.meter().messages) == (0, 0, 0)


def test_a_peer_that_trains_anothers_model_receives_it():
    federation = small(FOUR)
    view = federation.view(1)
    alone = sparse.csr_array(np.eye(4, dtype=bool))
    everybody_his_own = Plan(
        view.present, np.zeros(4, int), alone, np.zeros(4, int), ONCE, route="peers", follows=view.roster.ids
    )
    federation.adopt(Mean().weigh(view, everybody_his_own, (replies := federation.train(everybody_his_own)), None), replies)
    assert federation.meter().bytes == 0
    federation.view(2)
    federation.train(
        Plan(view.present, np.array([1, 1, 2, 2]), alone, np.arange(4), ONCE, route="peers", follows=view.roster.ids)
    )
    assert federation.meter().between == {"model": 2 * MODEL}


def test_leaders_gather_what_their_members_send():
    federation = small()
    view = federation.view(1)
    coalitions = Coalitions(np.array([0, 0, 1, 1, 1, -1]), leaders=np.array([1, 2]))
    trainers = np.array([0, 1, 3, 4, 5])
    everybody = sparse.csr_array(np.ones((1, 5), bool))
    plan = Plan(trainers, np.zeros(5, int), everybody, np.zeros(1, int), ONCE, route="leaders", coalitions=coalitions)
    federation.train(plan)
    assert federation.meter() == Meter(
        down={"model": 3 * MODEL},
        up={"model": 3 * MODEL, "telemetry": 5 * TOLD},
        between={"model": (3 + 3) * MODEL, "telemetry": 3 * TOLD},
        messages=3,
    )
    assert len(view.present) == 6


def led(monkeypatch, *failing):
    """What is left of a round of two coalitions, 0 to 2 and 3 to 5, when some fail: the first two lead and stand in."""
    monkeypatch.setattr(Reality, "failing", lambda *asked: dict.fromkeys(failing, "during"))
    federation = small()
    federation.view(1)
    coalitions = Coalitions(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 3]), stand_ins=np.array([1, 4]))
    everybody = sparse.csr_array(np.ones((1, 6), bool))
    plan = Plan(np.arange(6), np.zeros(6, int), everybody, np.zeros(1, int), ONCE, route="leaders", coalitions=coalitions)
    return federation.train(plan), federation.meter()


def test_a_stand_in_gathers_for_a_master_that_fails_and_nothing_else_is_lost(monkeypatch):
    replies, meter = led(monkeypatch, 0)
    assert (replies.clients.tolist(), replies.lost) == ([1, 2, 3, 4, 5], {0: "failed during training"})
    assert (meter.messages, meter.up["model"]) == (2, 2 * MODEL)
    assert meter.between["model"] == (4 + 1 + 2) * MODEL
    replies, meter = led(monkeypatch)
    assert (len(replies), meter.messages, meter.between["model"]) == (6, 2, (4 + 2 + 2) * MODEL)


def test_without_master_and_stand_in_a_coalition_trains_in_vain(monkeypatch):
    replies, meter = led(monkeypatch, 0, 1)
    assert replies.clients.tolist() == [3, 4, 5]
    assert replies.lost[2] == "its master failed, and the stand-in too"
    assert (meter.messages, meter.up["model"]) == (1, MODEL)


@pytest.mark.parametrize(("stage", "down", "up"), [("before", 3, 0), ("during", 3, 0), ("after", 3, 0)])
def test_who_fails_was_sent_a_model_and_sends_none(stage, down, up):
    federation = small(world=World(**{f"fail_{stage}": 1.0}))
    (record,) = played(Central(ONCE, BySize(), These((0, 2, 4))), federation, 1)
    assert record.meter.down == {"model": down * MODEL}
    assert (record.meter.bytes_up, record.meter.messages) == (up, 0)


def test_late_replies_were_sent_but_did_not_arrive():
    (record,) = played(Central(ONCE, BySize(), These((0, 2, 4)), deadline=1e-9), small(), 1)
    assert record.meter.up["model"] == 3 * MODEL
    assert record.meter.messages == 0


def test_nothing_crosses_to_those_who_are_away():
    federation = small(world=World(availability=0.0))
    view = federation.view(1)
    assert np.isnan(view.ask.losses(view.roster.ids)).all()
    federation.train(Plan.star([0, 1], ONCE))
    assert federation.meter() == Meter()
