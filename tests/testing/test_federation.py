from dataclasses import replace

import numpy as np
import pytest

from coterie.replies import Meter, Replies
from coterie.testing import Chances, ContractError, Toy, check_federation


class Restless(Toy):
    def train(self, plan):
        replies = super().train(plan)
        return replace(replies, models=replies.models + np.random.default_rng().random(dtype=np.float32))


class Amnesiac(Toy):
    def restore(self, state):
        super().restore({name: value for name, value in state.items() if name != "models"})


class RoundOff(Toy):
    def view(self, t):
        return replace(super().view(t), round=t - 1)


class OpenBook(Toy):
    def view(self, t):
        return replace(super().view(t), models=self.models.copy())


class Unsorted(Toy):
    def view(self, t):
        view = super().view(t)
        return replace(view, present=view.present[::-1])


class Free(Toy):
    def meter(self):
        return Meter()


class Counted(Toy):
    def meter(self):
        return replace(super().meter(), up={})


class Silent(Toy):
    def train(self, plan):
        replies = super().train(plan)
        return replace(replies, lost={}, rejected={})


class Stranger(Toy):
    def train(self, plan):
        replies = super().train(plan)
        return replace(replies, clients=np.minimum(replies.clients + 1, 7)) if len(replies) else replies


class Idle(Toy):
    def adopt(self, merge, replies):
        super().adopt(merge, replies)
        self.round -= 1


class Drifting(Toy):
    def adopt(self, merge, replies):
        super().adopt(merge, replies)
        self.models = self.models + np.float32(0.1)


class Eager(Toy):
    def train(self, plan):
        replies = super().train(plan)
        return replies if len(plan.trainers) else Replies(np.array([0]), self.models, np.array([1]))


class Opaque(Toy):
    def state(self):
        return {**super().state(), "ask": self.ask}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Restless, "the same federation made twice gave two results"),
        (Amnesiac, "a restored federation went another way"),
        (RoundOff, "the view onto round 1 says round 0"),
        (OpenBook, r"a rule could write into view\.models"),
        (Unsorted, "not distinct and in order"),
        (Free, "the meter missed evaluations"),
        (Counted, "the meter missed bytes of a question"),
        (Silent, "not said what became of its reply"),
        (Stranger, "was not asked"),
        (Idle, "the round was not completed"),
        (Drifting, "the model changed though nobody trained"),
        (Eager, "replies came of nobody"),
        (Opaque, "ToyAsk is not frozen"),
    ],
)
def test_a_planted_defect_is_found_and_named(kind, message):
    rough = Chances(replying=0.5) if kind is Silent else Chances()
    with pytest.raises(ContractError, match=message):
        check_federation(lambda: kind(clients=8, seed=1, chances=rough))


def test_a_rough_world_is_legal():
    check_federation(lambda: Toy(clients=8, seed=1, chances=Chances(0.7, 0.8, 0.7, 0.8)))
