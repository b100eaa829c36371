import numpy as np

from coterie.privacy import Exact
from coterie.testing import Toy
from tests.privacy.rounds import played


def test_it_knows_what_is_and_spends_nothing():
    toy = Toy(6, seed=1)
    record, told = played(Exact(), toy)
    np.testing.assert_array_equal(told.counts, toy.roster["size"][told.clients])
    assert record.meter.epsilon == 0
