from dataclasses import dataclass

import numpy as np
import pytest

from coterie.rules import Believer
from coterie.testing import ContractError, check_believer


@dataclass(frozen=True)
class Boundless(Believer):
    """Trusts some more than wholly."""

    def believe(self, view, state):
        return np.full(len(view.roster), 1.5)


@dataclass(frozen=True)
class Forgetful(Believer):
    """Forgets those who are absent."""

    def believe(self, view, state):
        return np.ones(len(view.present))


@dataclass(frozen=True)
class Paranoid(Believer):
    """Doubts those who were never asked."""

    def believe(self, view, state):
        return np.ones(len(view.roster))

    def heed(self, view, plan, replies, state):
        return dict.fromkeys(range(len(view.roster)), "because"), state


@dataclass(frozen=True)
class Silent(Believer):
    """Doubts without a reason."""

    def believe(self, view, state):
        return np.ones(len(view.roster))

    def heed(self, view, plan, replies, state):
        return dict.fromkeys(replies.clients.tolist(), ""), state


@pytest.mark.parametrize(
    ("believer", "message"),
    [
        (Boundless(), r"trust outside \[0, 1\]"),
        (Forgetful(), "not a value for each"),
        (Paranoid(), "that did not reply"),
        (Silent(), "without a reason"),
    ],
)
def test_a_planted_defect_is_found_and_named(believer, message):
    with pytest.raises(ContractError, match=message):
        check_believer(believer)
