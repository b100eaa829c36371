from dataclasses import dataclass, replace

import numpy as np

from coterie.aggregators import Mean
from coterie.backbones import SGD, HeadFirst
from coterie.federation import Steps
from coterie.recipe import Central, play
from coterie.rules import Backbone
from coterie.selectors import Uniform
from coterie.testing import Toy
from tests.simulation.small import small

STEPS = Steps(epochs=2, batch_size=8, lr=0.1)
ENDS = []


@dataclass(frozen=True)
class Watched(Backbone):
    """Writes down what each descent began and ended with."""

    def train(self, local):
        def descend(start, steps, **given):
            end = local.descend(start, steps, **given)
            ENDS.append((np.array(start), end.model))
            return end

        return HeadFirst(STEPS, STEPS).train(replace(local, descend=descend))


def test_first_the_last_layer_moves_then_all_below_it():
    ENDS.clear()
    with small(model="mlp:8") as fed:
        next(iter(play(Central(Watched(), Mean(), Uniform(1)), fed, 1)))
        head = np.zeros(fed.layout.size, bool)
        head[fed.layout.head] = True
    (start, middle), (again, end) = ENDS
    assert np.array_equal(middle, again)
    assert np.array_equal(start[~head], middle[~head]) and not np.allclose(start[head], middle[head])
    assert np.array_equal(middle[head], end[head]) and not np.allclose(middle[~head], end[~head])


def test_a_model_of_one_layer_has_nothing_below():
    toy = Toy(3, seed=1)
    trained, plain = HeadFirst(STEPS, STEPS).train(toy.local(0)), SGD(STEPS).train(toy.local(0))
    assert np.array_equal(trained.share, plain.share)
