from dataclasses import dataclass

import numpy as np
import pytest

from coterie.coalitions import Fixed, Grand
from coterie.plan import Coalitions
from coterie.rules import Former
from coterie.testing import ContractError, check_former


@dataclass(frozen=True)
class OnlyThePresent(Former):
    """Labels those present and forgets the others."""

    def form(self, view, state):
        return Coalitions(np.zeros(len(view.present), np.intp))


@dataclass(frozen=True)
class Labels(Former):
    """Returns bare labels."""

    def form(self, view, state):
        return np.zeros(len(view.roster), np.intp)


@dataclass(frozen=True)
class LedByTheFirst(Former):
    """Has the first client lead, whether it is there or not."""

    def form(self, view, state):
        labels = np.zeros(len(view.roster), np.intp)
        return Coalitions(labels, leaders=np.array([0])[: len(labels)])


@dataclass(frozen=True)
class Moody(Former):
    """Makes other coalitions each time it is asked."""

    def form(self, view, state):
        return Coalitions(np.random.default_rng().integers(0, 2, len(view.roster)) - 1)


@pytest.mark.parametrize(
    ("former", "message"),
    [
        (OnlyThePresent(), "those absent need one too"),
        (Labels(), "form returned a ndarray, not Coalitions"),
        (LedByTheFirst(), r"leaders are not present: \[0\]"),
        (Moody(), "the same seed and a copied state gave another result"),
    ],
)
def test_a_planted_defect_is_found_and_named(former, message):
    with pytest.raises(ContractError, match=message):
        check_former(former)


def test_sound_ones_pass():
    check_former(Grand())
    check_former(Fixed((0, -1, 1)), sizes=(3,))
    check_former(Fixed((-1, -1)), sizes=(2,))
