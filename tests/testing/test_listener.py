from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from coterie.neighbors import Alone
from coterie.rules import Listener
from coterie.testing import ContractError, check_listener


@dataclass(frozen=True)
class HearsEveryone(Listener):
    """Listens to those who are not there."""

    def listen(self, view, state):
        hears = np.zeros((len(view.roster), len(view.roster)), bool)
        hears[view.present] = True
        return sparse.csr_array(hears)


@dataclass(frozen=True)
class EveryoneHears(Listener):
    """Has those listen who are not there."""

    def listen(self, view, state):
        hears = np.zeros((len(view.roster), len(view.roster)), bool)
        hears[:, view.present] = True
        return sparse.csr_array(hears)


@dataclass(frozen=True)
class Dense(Listener):
    """Returns a table."""

    def listen(self, view, state):
        return np.eye(len(view.roster), dtype=bool)


@dataclass(frozen=True)
class Weights(Listener):
    """Returns numbers."""

    def listen(self, view, state):
        return sparse.csr_array(np.eye(len(view.roster)))


@dataclass(frozen=True)
class Small(Listener):
    """Returns rows and columns of those present only."""

    def listen(self, view, state):
        return sparse.csr_array(np.eye(len(view.present), dtype=bool))


@pytest.mark.parametrize(
    ("listener", "message"),
    [
        (HearsEveryone(), "clients who are not present are heard"),
        (EveryoneHears(), "clients who are not present hear"),
        (Dense(), "not a sparse matrix"),
        (Weights(), "float64 values, not true and false"),
        (Small(), r"listen returned a matrix \(\d+, \d+\), not \(\d+, \d+\)"),
    ],
)
def test_a_planted_defect_is_found_and_named(listener, message):
    with pytest.raises(ContractError, match=message):
        check_listener(listener)


def test_sound_ones_pass():
    check_listener(Alone())
