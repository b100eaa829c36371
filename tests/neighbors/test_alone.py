import numpy as np

from coterie import play
from coterie.catalog import local
from coterie.neighbors import Alone
from coterie.testing import Chances, Toy


def test_hears_only_itself_and_only_when_present():
    toy = Toy(clients=8, seed=1, chances=Chances(present=0.5))
    view = toy.view(1)
    hears = Alone().listen(view, None).toarray()
    expected = np.zeros((8, 8), bool)
    expected[view.present, view.present] = True
    np.testing.assert_array_equal(hears, expected)


def test_every_client_goes_on_from_its_own_model():
    together, apart = Toy(clients=4, seed=1), Toy(clients=4, seed=1)
    list(play(local(), together, 3))
    apart.samples[1:] = [apart.samples[0]] * 3
    list(play(local(), apart, 3))
    np.testing.assert_array_equal(together.models[0], apart.models[0])
    assert not np.array_equal(together.models[0], together.models[1])
