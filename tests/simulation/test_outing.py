import numpy as np

from coterie.plan import Plan
from coterie.simulation.outing import set_out

PLAN = Plan.star([1, 2, 3, 5, 6], None)


def test_each_trainer_meets_its_fate():
    sizes = np.array([9, 9, 9, 0, 9, 9, 9])
    outing = set_out(PLAN, np.array([1, 2, 3, 5]), sizes, {1: "before", 2: "after", 3: "during", 6: "before"})
    assert outing.reached.tolist() == [1, 2, 5]
    assert outing.training.tolist() == [2, 5]
    assert outing.lost == {
        1: "failed before training",
        2: "failed after training",
        3: "no training samples",
        6: "absent",
    }
    assert outing.waits


def test_nobody_is_waited_for_who_was_never_reached():
    assert not set_out(PLAN, np.array([1, 2]), np.array([9, 9, 0, 9, 9, 9, 9]), {}).waits
