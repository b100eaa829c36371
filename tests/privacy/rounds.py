"""A round in which a reporter says what is known."""

from coterie.aggregators import BySize
from coterie.backbones import SGD
from coterie.coalitions import Grand
from coterie.federation import Steps
from coterie.recipe import Personal, play
from coterie.rules import Reporter
from coterie.selectors import Uniform


class Overheard(Reporter):
    """A reporter whose reports are kept."""

    def __init__(self, rule):
        self.rule, self.told, self.rosters = rule, [], []

    def begin(self, roster):
        return self.rule.begin(roster)

    def learn(self, view, plan, replies, state):
        return self.rule.learn(view, plan, replies, state)

    def known(self, view, state):
        self.rosters.append(self.rule.known(view, state))
        return self.rosters[-1]

    def report(self, view, plan, replies, state):
        self.told.append(self.rule.report(view, plan, replies, state))
        return self.told[-1]


def recipe(reporter, **settings):
    steps = SGD(Steps(epochs=1, batch_size=8, lr=0.1))
    return Personal(steps, BySize(), Uniform(4), Grand(), reporter, **settings)


def played(reporter, federation, rounds=1):
    """The last record, and what the reporter made of the last replies."""
    overheard = Overheard(reporter)
    record = list(play(recipe(overheard), federation, rounds))[-1]
    return record, overheard.told[-1]
