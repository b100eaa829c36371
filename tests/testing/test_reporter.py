from dataclasses import dataclass, replace

import numpy as np
import pytest

from coterie.privacy import Exact, Volumes
from coterie.report import Bounded, Report
from coterie.roster import Roster
from coterie.rules import Reporter
from coterie.testing import ContractError, check_reporter


@dataclass(frozen=True)
class Broken(Reporter):
    """Does everything right but one thing."""

    def known(self, view, state):
        return view.roster

    def report(self, view, plan, replies, state):
        return replies


@dataclass(frozen=True)
class Talkative(Broken):
    """Asks again and again, each time anew."""

    def known(self, view, state):
        occasion = 1000 * view.round + int(view.ask.budget.spent.sum())
        view.ask.reports(view.present, Report((Bounded("size", epsilon=1.0),), occasion))
        return view.roster


@dataclass(frozen=True)
class Negative(Broken):
    """Passes noise on as it comes."""

    def known(self, view, state):
        return view.roster.with_columns(size=np.full(len(view.roster), -3.0))


@dataclass(frozen=True)
class Forgetful(Broken):
    """Knows the first few only."""

    def known(self, view, state):
        return Roster(view.roster.keys[:1], {"size": view.roster["size"][:1]})


@dataclass(frozen=True)
class Meddling(Broken):
    """Turns models round."""

    def report(self, view, plan, replies, state):
        return replace(replies, models=-replies.models)


@dataclass(frozen=True)
class Hiding(Broken):
    """Lets fewer clients have replied."""

    def report(self, view, plan, replies, state):
        return replace(replies, counts=replies.counts * 0)


@pytest.mark.parametrize("reporter", [Exact(), Volumes(0.5), Volumes(0.5, report_every="round", cap=1.0), Broken()])
def test_good_reporters_pass(reporter):
    check_reporter(reporter)


@pytest.mark.parametrize(
    ("reporter", "says"),
    [
        (Talkative(), "spends privacy twice"),
        (Negative(), "finite and not negative"),
        (Forgetful(), "other clients"),
        (Meddling(), "report changed models"),
        (Hiding(), "whole numbers from 1"),
    ],
)
def test_broken_reporters_are_caught(reporter, says):
    with pytest.raises(ContractError, match=says):
        check_reporter(reporter)
