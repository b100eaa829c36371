import numpy as np
import pytest
from scipy import sparse

from coterie.backbones import SGD
from coterie.federation import View
from coterie.plan import Coalitions, Plan


def test_stand_ins_stand_behind_leaders_in_their_coalition():
    labels = np.array([0, 0, 1, -1])
    assert Coalitions(labels, np.array([0, 2]), stand_ins=np.array([1, -1])).stand_ins.tolist() == [1, -1]
    for leaders, second in [(None, [1, -1]), ([0, 2], [2, -1]), ([0, 2], [1]), ([0, 2], [3, -1])]:
        with pytest.raises(ValueError, match="stand-in stands behind a leader"):
            Coalitions(labels, None if leaders is None else np.array(leaders), stand_ins=np.array(second))


def test_trainers_are_laid_out_in_key_order_with_all_that_belongs_to_them():
    hears = sparse.csr_array(np.array([[1, 0, 1], [0, 1, 0]], dtype=bool))
    plan = Plan([7, 2, 5], [0, 1, 0], hears, [0, 1], SGD())
    assert plan.trainers.tolist() == [2, 5, 7]
    assert plan.start.tolist() == [1, 0, 0]
    assert plan.hears.toarray().tolist() == [[False, True, True], [True, False, False]]


def test_support_has_a_column_for_each_reply():
    plan = Plan.star([1, 4, 6], SGD())
    assert plan.support(np.array([1, 6])).toarray().tolist() == [[True, True]]
    assert plan.support(np.array([], dtype=np.intp)).shape == (1, 0)
    with pytest.raises(ValueError, match="not asked"):
        plan.support(np.array([2]))
    with pytest.raises(ValueError, match="not asked"):
        plan.support(np.array([9]))


def test_an_empty_cohort_is_a_plan():
    plan = Plan.star([], SGD())
    assert plan.hears.shape == (1, 0)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Plan.star([1, 1], SGD()), "asked to train twice"),
        (lambda: Plan([1, 2], [0], np.ones((1, 2)), [0], SGD()), "models to start from"),
        (lambda: Plan([1, 2], [0, 0], np.ones((2, 1)), [0], SGD()), "targets × trainers"),
        (lambda: Plan.star([1], SGD(), route="leaders"), "coalitions with leaders"),
        (lambda: Coalitions(np.array([0, 2])), "without gaps"),
        (lambda: Coalitions(np.array([0, 1, 1]), leaders=np.array([1, 2])), "one leader"),
    ],
)
def test_impossible_plans_are_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_coalitions_know_their_members():
    coalitions = Coalitions(np.array([1, 0, 1, -1]))
    assert len(coalitions) == 2
    assert coalitions.members(1).tolist() == [0, 2]
    assert coalitions.sizes.tolist() == [1, 2]
    assert len(Coalitions(np.array([-1, -1]))) == 0


def test_notes_become_one_table():
    view = View(1, None, np.arange(5), None, None, None, None, 1)  # type: ignore[arg-type]
    view.note([3, 1], score=[0.5, 0.25])
    view.note([4], drawn=1)
    assert view.why.candidates.tolist() == [1, 3, 4]
    np.testing.assert_array_equal(view.why.columns["score"], [0.25, 0.5, np.nan])
    np.testing.assert_array_equal(view.why.columns["drawn"], [np.nan, np.nan, 1])
    assert not view.towards("weigh").why.columns


def test_a_trial_stands_beside_the_global_model():
    plan = Plan.star([5, 1], SGD(), use_first=1, min_replies=2).beside(np.array([3, 5]), clients=8)
    assert plan.trainers.tolist() == [1, 3, 5]
    assert plan.support(plan.trainers).toarray().tolist() == [[True, False, True], [False, True, True]]
    assert plan.keeps.tolist() == [0, 0]
    assert plan.follows.tolist() == [0] * 8
    assert plan.use_first is None
    assert plan.min_replies == 2
