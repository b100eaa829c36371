import numpy as np
import pytest

from coterie.aggregators import BySize
from coterie.backbones import SGD
from coterie.federation import Steps
from coterie.plan import Plan
from coterie.recipe import Central
from coterie.replies import Reply
from coterie.simulation import World
from coterie.simulation.closing import close
from tests.simulation.small import These, played, small

MODELS = np.zeros((1, 2), np.float32)
EVERYBODY = These(tuple(range(6)), stubborn=True)
STEPS = Steps(epochs=1, batch_size=8, lr=0.1)


def reply(client: int, seconds: float, value: float = 1.0) -> Reply:
    return Reply(client, np.full(2, value, np.float32), 10, 1, {"loss": 0.5}, seconds)


def test_without_limits_all_are_used_and_the_slowest_ends_the_round():
    replies = close(Plan.star([1, 2, 3], None), MODELS, 1, [reply(3, 5.0), reply(1, 9.0)], {2: "failed during training"}, True)
    assert (replies.clients.tolist(), replies.duration) == ([1, 3], 9.0)
    assert replies.lost == {2: "failed during training"}


def test_a_late_reply_is_lost_and_the_round_ends_at_the_deadline():
    replies = close(Plan.star([1, 2], None, deadline=6.0), MODELS, 1, [reply(1, 6.0), reply(2, 6.1)], {}, False)
    assert (replies.clients.tolist(), replies.lost, replies.duration) == ([1], {2: "late"}, 6.0)
    early = close(Plan.star([1, 2], None, deadline=6.0), MODELS, 1, [reply(1, 2.0), reply(2, 4.0)], {}, False)
    assert early.duration == 4.0
    failed = close(Plan.star([1, 2], None, deadline=6.0), MODELS, 1, [reply(1, 2.0)], {2: "failed before training"}, True)
    assert failed.duration == 6.0


def test_of_too_many_the_earliest_are_used():
    sent = [reply(4, 3.0), reply(1, 2.0), reply(3, 1.0), reply(2, 3.0)]
    replies = close(Plan.star([1, 2, 3, 4], None, use_first=3), MODELS, 1, sent, {}, False)
    assert replies.clients.tolist() == [1, 2, 3], "of two that arrive together the smaller key"
    assert (replies.lost, replies.duration) == ({4: "surplus"}, 3.0)
    np.testing.assert_array_equal(replies.seconds, [2, 3, 1])
    np.testing.assert_array_equal(replies.facts["loss"], [0.5] * 3)


def test_a_broken_reply_is_not_one_of_the_first():
    sent = [reply(1, 1.0, np.nan), reply(2, 2.0), reply(3, 3.0), reply(4, 4.0, np.nan)]
    replies = close(Plan.star([1, 2, 3, 4], None, use_first=2), MODELS, 1, sent, {}, False)
    assert replies.clients.tolist() == [2, 3]
    assert set(replies.rejected) == {1}
    assert replies.lost == {4: "surplus"}


def test_too_few_for_over_selection_is_waited_for_until_the_deadline():
    plan = Plan.star([1, 2, 3], None, use_first=2, deadline=8.0)
    replies = close(plan, MODELS, 1, [reply(1, 1.0), reply(3, 9.0)], {2: "failed after training"}, True)
    assert (replies.clients.tolist(), replies.duration) == ([1], 8.0)
    assert replies.lost == {2: "failed after training", 3: "late"}


def test_a_deadline_in_a_run_equals_the_run_of_those_who_are_fast_enough():
    seconds = played(Central(SGD(STEPS), BySize(), EVERYBODY), federation := small(), 1)[0]
    assert seconds.duration > 0
    replies = (fresh := small()).view(1) and fresh.train(Plan.star(range(6), SGD(STEPS)))
    deadline = float(np.median(replies.seconds))
    fast = replies.clients[replies.seconds <= deadline]
    limited, only = small(), small()
    (record,) = played(Central(SGD(STEPS), BySize(), EVERYBODY, deadline=deadline), limited, 1)
    played(Central(SGD(STEPS), BySize(), These(tuple(fast.tolist()))), only, 1)
    assert record.answered.tolist() == fast.tolist()
    assert record.duration == deadline
    assert limited.models.tobytes() == only.models.tobytes() != federation.models.tobytes()


@pytest.mark.parametrize("lost", [0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("stage", ["before", "during", "after"])
def test_a_round_copes_with_any_share_of_lost_clients(lost, stage):
    federation = small(world=World(**{f"fail_{stage}": lost}))
    records = played(Central(SGD(STEPS), BySize(), EVERYBODY, deadline=100.0, min_replies=2), federation, 12)
    asked = 12 * 6
    gone = sum(len(record.lost) for record in records)
    assert abs(gone / asked - lost) < 0.2
    for record in records:
        assert len(record.answered) + len(record.lost) == 6
        assert all(reason == f"failed {stage} training" for reason in record.lost.values())
        assert len(record.used) == (len(record.answered) if len(record.answered) >= 2 else 0)
        assert record.duration <= 100.0
        assert np.isfinite(record.loss)
