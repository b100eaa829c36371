import numpy as np
import pytest

from coterie.report import Bounded, Report


def test_what_an_answer_spends_is_the_sum_over_what_is_noised():
    report = Report((Bounded("gap", -1, 1, 0.25), Bounded("spread", 0, 2, 0.5), Bounded("loss")))
    assert report.epsilon == 0.75
    assert [one.scale for one in report.numbers] == [8.0, 4.0, 0.0]


def test_numbers_are_put_into_their_bounds():
    report = Report((Bounded("gap", -1, 1), Bounded("size", 0, 9)))
    truth = np.array([[-3.0, 4.0], [0.5, 40.0], [np.nan, -np.inf]])
    np.testing.assert_array_equal(report.bounded(truth), [[-1, 4], [0.5, 9], [-1, 0]])


def test_only_a_size_is_about_no_model():
    assert not Report((Bounded("size"),)).about_models
    assert Report((Bounded("size"), Bounded("loss"))).about_models


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Bounded("income"), "number: must be one of size, loss"),
        (lambda: Bounded("size", 3, 3), "size: bounds must be finite, the lower one first"),
        (lambda: Bounded("size", 0, np.inf), "bounds must be finite"),
        (lambda: Bounded("size", epsilon=0), "epsilon: must be a number above 0"),
        (lambda: Report(()), "one number at least"),
        (lambda: Report((Bounded("size"), Bounded("size"))), "none twice"),
        (lambda: Report((Bounded("size"),), noise="none"), "noise: must be"),
        (lambda: Report((Bounded("size"),), cap=0), "cap: must be"),
    ],
)
def test_impossible_reports_are_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()
