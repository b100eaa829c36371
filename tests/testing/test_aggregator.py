from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from coterie.aggregators import TrimmedMean
from coterie.mixing import Merge, Mixing, Statistic
from coterie.rules import Aggregator
from coterie.testing import ContractError, check_aggregator


@dataclass(frozen=True)
class HearsEverything(Aggregator):
    """Weighs what a target must not hear."""

    def weigh(self, view, plan, replies, state):
        return Mixing(sparse.csr_array(np.full((len(plan.keeps), len(replies)), 1 / len(replies))))


@dataclass(frozen=True)
class Half(Aggregator):
    """Has weights that sum to a half."""

    def weigh(self, view, plan, replies, state):
        return Mixing(sparse.csr_array(plan.support(replies.clients) * (0.5 / len(replies))))


@dataclass(frozen=True, eq=False)
class Loose(Merge):
    """A map that checks nothing."""

    kind: str

    def apply(self, models, kept):
        made = np.tile(models.mean(axis=0), (len(kept), 1))
        return made.astype(np.float64) if self.kind == "double" else made

    def uses(self):
        return np.zeros(len(self.kind), bool) if self.kind == "short" else np.ones(1, bool)

    def check(self, plan, replies):
        pass


@dataclass(frozen=True)
class Unchecked(Aggregator):
    """Averages all for everyone, by a map that checks nothing."""

    kind: str = "plain"

    def weigh(self, view, plan, replies, state):
        return Loose(self.kind)


@dataclass(frozen=True, eq=False)
class Denied(Merge):
    """A statistic that says that it used nobody."""

    inner: Statistic

    def apply(self, models, kept):
        return self.inner.apply(models, kept)

    def uses(self):
        return ~self.inner.uses()

    def check(self, plan, replies):
        self.inner.check(plan, replies)


@dataclass(frozen=True)
class Deniable(Aggregator):
    """Uses what it says it does not."""

    def weigh(self, view, plan, replies, state):
        return Denied(TrimmedMean(0.0).weigh(view, plan, replies, state))


@dataclass(frozen=True, eq=False)
class Leaky(Denied):
    """Mixes a little of everything into everybody's model."""

    def apply(self, models, kept):
        made = self.inner.apply(models, kept)
        hearing = np.diff(self.inner.support.indptr) > 0
        return np.where(hearing[:, None], made + np.float32(0.01) * models.sum(axis=0), kept)

    def uses(self):
        return np.ones(self.inner.support.shape[1], bool)


@dataclass(frozen=True)
class Leaks(Aggregator):
    """Lets through what a target must not hear, behind a good check."""

    def weigh(self, view, plan, replies, state):
        return Leaky(TrimmedMean(0.0).weigh(view, plan, replies, state))


@dataclass(frozen=True)
class Forgetful(Aggregator):
    """Changes its state in place."""

    def begin(self, roster):
        return {"rounds": 0}

    def weigh(self, view, plan, replies, state):
        state["rounds"] += 1
        return TrimmedMean(0.0).weigh(view, plan, replies, None)


@pytest.mark.parametrize(
    ("aggregator", "message"),
    [
        (HearsEverything(), "a weight lies where the plan allowed no hearing"),
        (Half(), "sums to .*, not to 1"),
        (Unchecked("double"), "made float64 models"),
        (Unchecked("short"), "uses must be one flag a reply"),
        (Unchecked(), "did not keep its model|must not hear|one flag a reply"),
        (Deniable(), "a reply has influence that is said to be unused"),
        (Leaks(), "is made of what it must not hear"),
        (Forgetful(), "the state that learn was given was changed"),
    ],
)
def test_a_planted_defect_is_found_and_named(aggregator, message):
    with pytest.raises(ContractError, match=message):
        check_aggregator(aggregator)


def test_sound_ones_pass():
    check_aggregator(TrimmedMean(0.3))
