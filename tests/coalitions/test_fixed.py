import numpy as np
import pytest

from coterie import play
from coterie.aggregators import Mean
from coterie.backbones import SGD
from coterie.coalitions import Fixed
from coterie.recipe import ByCoalition
from coterie.testing import Toy


def test_each_coalition_trains_its_own_model():
    toy = Toy(clients=5, seed=3)
    record = next(play(ByCoalition(SGD(), Mean(), Fixed((0, 1, 0, 1, -1))), toy, 1))
    assert record.asked.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(toy.models[toy.follows[0]], (toy.held[0] + toy.held[2]) / 2, atol=1e-6)
    np.testing.assert_allclose(toy.models[toy.follows[1]], (toy.held[1] + toy.held[3]) / 2, atol=1e-6)
    assert 4 not in toy.held


def test_labels_may_come_from_an_array():
    assert Fixed(np.array([1, 0])) == Fixed((1, 0))


def test_refuses_labels_with_gaps_and_labels_for_others():
    with pytest.raises(ValueError, match="without gaps"):
        Fixed((0, 2))
    with pytest.raises(ValueError, match="labels: 2 labels for 3 clients"):
        Fixed((0, 1)).form(Toy(clients=3).view(1), None)
