import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.backbones import SGD
from coterie.plan import Plan
from coterie.replies import Meter, Reply, admit

TODAY = np.ones((1, 4), np.float32)
PLAN = Plan.star([0, 1, 2], SGD())


def good(client: int, **changed: object) -> Reply:
    return Reply(**{"client": client, "model": np.full(4, client, np.float32), "count": 10 + client, "round": 3, **changed})


def test_a_reply_without_what_was_asked_for_is_refused_and_hides_nobody_elses():
    plan = Plan.star([0, 1, 2], SGD(), wants=frozenset({"use_cpu"}))
    replies = admit(plan, TODAY, 3, [good(0, facts={"use_cpu": 0.5}), good(1), good(2, facts={"use_cpu": 0.7})])
    assert replies.rejected == {1: "use_cpu: it was asked for and did not come"}
    assert replies.facts["use_cpu"].tolist() == [0.5, 0.7]


BROKEN = {
    "nan": {"model": np.array([1, np.nan, 1, 1], np.float32)},
    "inf": {"model": np.array([1, np.inf, 1, 1], np.float32)},
    "huge": {"model": np.full(4, 1e30, np.float32)},
    "shape": {"model": np.ones(5, np.float32)},
    "matrix": {"model": np.ones((4, 1), np.float32)},
    "dtype": {"model": np.ones(4)},
    "no array": {"model": [1.0, 1.0, 1.0, 1.0]},
    "nobody": {"count": 0},
    "negative": {"count": -1},
    "no number": {"count": float("nan")},
    "endless": {"count": 2**63},
    "text": {"count": "10"},
    "truth": {"count": True},
    "half": {"count": 1.5},
    "stale": {"round": 2},
    "loss": {"facts": {"loss": float("nan")}},
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_reply_is_rejected_whole_and_leaves_no_trace(name):
    replies = admit(PLAN, TODAY, 3, [good(2), good(1, **BROKEN[name]), good(0)])
    without = admit(PLAN, TODAY, 3, [good(0), good(2)])
    assert list(replies.rejected) == [1]
    assert replies.rejected[1]
    assert replies.clients.tolist() == without.clients.tolist() == [0, 2]
    assert replies.models.tobytes() == without.models.tobytes()
    assert replies.counts.tolist() == without.counts.tolist() == [10, 12]


def test_of_two_replies_the_first_counts_and_strangers_do_not():
    replies = admit(PLAN, TODAY, 3, [good(1), good(1, count=99), good(8)])
    assert replies.counts.tolist() == [11]
    assert replies.rejected == {1: "second reply in one round", 8: "was not asked"}


@given(st.permutations([0, 1, 2]))
def test_the_order_of_arrival_changes_nothing(order):
    shuffled = admit(PLAN, TODAY, 3, [good(i, facts={"loss": i / 2}) for i in order])
    assert shuffled.clients.tolist() == [0, 1, 2]
    assert shuffled.models[:, 0].tolist() == [0, 1, 2]
    assert shuffled.facts["loss"].tolist() == [0, 0.5, 1]


def test_nobody_answers():
    replies = admit(PLAN, TODAY, 3, [], lost={2: "late", 0: "absent"})
    assert len(replies) == 0
    assert replies.models.shape == (0, 4)
    assert list(replies.lost) == [0, 2]


def test_meters_add_up_by_kind():
    total = sum([Meter(down={"model": 4}, between={"model": 2}, messages=1), Meter(down={"loss": 8}, evaluations=2)], Meter())
    assert total == Meter(down={"loss": 8, "model": 4}, between={"model": 2}, evaluations=2, messages=1)
    assert total.bytes == 14
