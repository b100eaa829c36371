from types import SimpleNamespace

import numpy as np
import pytest

from coterie.coalitions.error_hedonic import ErrorHedonic
from coterie.roster import Roster


def view_of(present: list[int], **columns: object) -> SimpleNamespace:
    clients = len(next(iter(columns.values())))  # type: ignore[arg-type]
    return SimpleNamespace(roster=Roster.of(map(str, range(clients)), **columns), present=np.array(present, np.intp))


def test_the_former_brings_a_certified_structure_of_those_who_are_present():
    sizes = np.array([40, 45, 400, 42, 9, 900])
    found = ErrorHedonic(threshold=50.0).form(view_of([0, 1, 2, 3, 5], size=sizes), None)
    assert found.labels.tolist() == [0, 0, 1, 0, -1, 2]
    facts = found.certificate
    assert (facts["nash"], facts["individual"], facts["core"], facts["ended"]) == (True, True, True, True)
    assert facts["error_over_optimum"] == pytest.approx(1.0)


def test_the_former_can_ask_for_consent():
    found = ErrorHedonic(threshold=50.0, stability="individual").form(view_of([0, 1, 2], size=[5, 7, 400]), None)
    assert found.certificate["individual"] is True


def test_no_samples_count_as_one():
    found = ErrorHedonic(threshold=50.0).form(view_of([0, 1], size=[0, 1]), None)
    assert found.labels.tolist() == [0, 0]


def test_nobody_present():
    found = ErrorHedonic(threshold=50.0).form(view_of([], size=[5, 7]), None)
    assert found.labels.tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ErrorHedonic(threshold=0.0), "threshold: must be a number above 0"),
        (lambda: ErrorHedonic(threshold=float("nan")), "threshold"),
        (lambda: ErrorHedonic(threshold=5.0, stability="core"), "'nash' or 'individual'"),
    ],
)
def test_impossible_games_are_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()
