import numpy as np
import pytest
from scipy import sparse

from coterie.market import Bids, Task, clear

GOOD = {"prices": [1, 2], "counts": [[1, 0], [0, 1]]}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"prices": [1, -2]}, "price of bidder 1 is -2"),
        ({"prices": [1.0, float("nan")]}, "price of bidder 1 is nan"),
        ({"prices": [[1, 2]]}, "a row of numbers"),
        ({"prices": [1, 2**60]}, "over 2\\*\\*53"),
        ({"reputations": [0.5]}, "2 prices, but reputations"),
        ({"reputations": [0.5, float("inf")]}, "reputation of bidder 1"),
        ({"reputations": [-0.5, 0]}, "reputation of bidder 0"),
        ({"counts": [[1, 0]]}, "2 prices, but counts of 1 bidders"),
        ({"counts": [1, 2]}, "bidders × classes"),
        ({"counts": [[1, 0], [0, 1.5]]}, "counts must be whole numbers"),
        ({"counts": [[1, 0], [0, -1]]}, "counts must be from 0"),
        ({"counts": [["a", "b"], ["c", "d"]]}, "counts must be"),
    ],
)
def test_what_bids_must_not_be(wrong, says):
    with pytest.raises(ValueError, match=says):
        Bids(**{**GOOD, **wrong})


@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array, sparse.lil_matrix])
def test_counts_come_in_any_shape_and_stay_sparse(kind):
    bids = Bids(prices=[1, 2, 3], counts=kind(np.array([[0, 4], [0, 0], [2, 0]])))
    assert sparse.issparse(bids.counts) and bids.counts.nnz == 2
    assert bids.counts.toarray().tolist() == [[0, 4], [0, 0], [2, 0]]


def test_doubled_and_stored_zero_entries_are_tidied_without_touching_the_callers_matrix():
    given = sparse.csr_array((np.array([1, 2, 0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    bids = Bids(prices=[1, 2], counts=given)
    assert bids.counts.toarray().tolist() == [[0, 3], [0, 0]] and bids.counts.nnz == 1
    assert given.nnz == 3


def test_counts_for_other_classes_than_the_tasks_are_refused():
    with pytest.raises(ValueError, match="counts of 2 classes for a task of 1 quotas"):
        clear(Task(quotas=[3], reserve_price=5), Bids(**GOOD))
