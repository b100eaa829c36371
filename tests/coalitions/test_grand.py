import numpy as np

from coterie import play
from coterie.aggregators import BySize
from coterie.backbones import SGD
from coterie.catalog import fedavg
from coterie.coalitions import Grand
from coterie.recipe import ByCoalition
from coterie.testing import Toy


def test_the_grand_coalition_is_federated_averaging_with_everybody():
    grand, usual = Toy(clients=5, seed=2), Toy(clients=5, seed=2)
    list(play(ByCoalition(SGD(), BySize(), Grand()), grand, 3))
    list(play(fedavg(per_round=5), usual, 3))
    np.testing.assert_array_equal(grand.models[grand.follows[0]], usual.models[0])
