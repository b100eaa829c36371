import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from coterie.aggregators import BySize, Coarse, Fine
from coterie.aggregators.coarse import shares
from coterie.backbones import SGD
from coterie.coalitions import sharing_errors
from coterie.plan import Coalitions, Plan
from coterie.replies import Replies
from coterie.testing import Toy
from tests.oracles import sharing


def personal(hears, certificate=None):
    """A plan of four clients with models of their own, of whom those in `hears` are heard."""
    matrix = sparse.csr_array(np.array(hears, bool))
    together = None if certificate is None else Coalitions(np.zeros(4, int), certificate=certificate)
    ids = np.arange(4)
    return Plan(ids, np.zeros(4, int), matrix, np.zeros(4, int), SGD(), follows=ids, coalitions=together)


def replies(sizes, dim=None):
    models = np.zeros((4, Toy(4).layout.size if dim is None else dim), np.float32)
    return Replies(np.arange(4), models, np.array(sizes))


EVERYBODY = np.ones((4, 4))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 300), min_size=2, max_size=5), st.floats(0.5, 500))
def test_the_share_of_ones_own_is_the_best_there_is(sizes, threshold):
    counts = np.array(sizes, float)
    found = shares(counts, counts.sum(), (counts**2).sum(), threshold)
    for j, n in enumerate(sizes):
        assert found[j] == pytest.approx(sharing.coarse(n, sizes[:j] + sizes[j + 1 :], threshold), abs=1e-4)
    local = sharing_errors.by_mean(sizes, threshold)
    np.testing.assert_allclose(found, sharing_errors.coarse_weights(sizes, local, 1.0), rtol=1e-9)


def test_each_keeps_its_share_and_hears_the_mean():
    sizes = np.array([30, 30, 30, 300])
    weights = Coarse(10.0).weigh(Toy(4).view(1), personal(EVERYBODY), replies(sizes), None).weights.toarray()
    w = shares(sizes.astype(float), 390.0, float((sizes**2).sum()), 10.0)
    np.testing.assert_allclose(weights, np.diag(w) + np.outer(1 - w, sizes / 390))
    np.testing.assert_allclose(weights.sum(axis=1), 1)


def test_the_threshold_of_the_coalitions_is_taken():
    plan = personal(EVERYBODY, {"threshold": 10.0})
    given, own = (rule.weigh(Toy(4).view(1), plan, replies([3, 9, 5, 40]), None) for rule in (Coarse(), Coarse(10.0)))
    np.testing.assert_array_equal(given.weights.toarray(), own.weights.toarray())


@pytest.mark.parametrize("otherwise", [BySize(), Fine()])
def test_without_a_threshold_another_rule_decides(otherwise):
    for plan in (personal(EVERYBODY), personal(EVERYBODY, {"threshold": float("nan")})):
        found = Coarse(otherwise=otherwise).weigh(Toy(4).view(1), plan, replies([3, 9, 5, 40]), None)
        other = otherwise.weigh(Toy(4).view(1), plan, replies([3, 9, 5, 40]), None)
        np.testing.assert_array_equal(found.weights.toarray(), other.weights.toarray())


def test_whoever_is_alone_keeps_its_own_and_a_shared_row_is_the_mean_by_samples():
    alone = np.eye(4)
    found = Coarse(10.0).weigh(Toy(4).view(1), personal(alone), replies([3, 9, 5, 40]), None).weights.toarray()
    np.testing.assert_array_equal(found, alone)
    star = Plan.star(np.arange(4), SGD())
    mean = Coarse(10.0).weigh(Toy(4).view(1), star, replies([1, 1, 2, 4]), None).weights.toarray()
    np.testing.assert_allclose(mean, [[0.125, 0.125, 0.25, 0.5]])


def test_an_impossible_threshold_is_refused():
    with pytest.raises(ValueError, match="threshold: must be a number above 0"):
        Coarse(0.0)
