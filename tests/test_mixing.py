import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from coterie.backbones import SGD
from coterie.mixing import Among, Mixing, Partly, Statistic, Taught, chain, product, rows_to_one
from coterie.plan import Plan
from coterie.replies import Reply, admit

matrices = hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 5)), elements=st.sampled_from([0, 0, 1, 2.5, 7]))


def plain(weights: np.ndarray, models: np.ndarray, kept: np.ndarray) -> np.ndarray:
    rows = []
    for target in range(len(weights)):
        total = sum(weights[target])
        rows.append(sum(w / total * m for w, m in zip(weights[target], models, strict=True)) if total else kept[target])
    return np.array(rows)


@given(matrices)
def test_mixing_equals_a_loop_over_targets(weights):
    rng = np.random.default_rng(0)
    models = rng.normal(size=(weights.shape[1], 3)).astype(np.float32)
    kept = rng.normal(size=(weights.shape[0], 3)).astype(np.float32)
    mixing = rows_to_one(sparse.csr_array(weights))
    np.testing.assert_allclose(mixing.apply(models, kept), plain(weights, models, kept), rtol=1e-5, atol=1e-6)
    assert mixing.uses().tolist() == (weights.sum(axis=0) > 0).tolist()


@pytest.mark.parametrize("density", [0.05, 0.5, 1.0])
def test_many_weights_are_multiplied_alike_whichever_way(density, monkeypatch):
    rng = np.random.default_rng(3)
    weights = sparse.csr_array((rng.random((40, 30)) < density) * rng.random((40, 30)), dtype=np.float32)
    models = rng.normal(size=(30, 4)).astype(np.float32)
    expected = weights.toarray().astype(float) @ models
    for crowded in (1, 10**9):
        monkeypatch.setattr("coterie.mixing.CROWDED", crowded)
        np.testing.assert_allclose(product(weights, models), expected, rtol=1e-4, atol=1e-5)


def test_shares_say_what_of_each_target_each_reply_is():
    inner = Mixing(sparse.csr_array(np.array([[0.25, 0.75], [0, 1.0]])))
    among = Among(inner, np.array([True, False, True]), {1: "a copy"})
    assert among.shares.toarray().tolist() == [[0.25, 0, 0.75], [0, 0, 1]]
    assert Among(Statistic(inner.weights, np.sum), np.array([True, True]), {}).shares is None
    assert Taught(inner, np.zeros((2, 1), np.float32)).shares is inner.shares


def test_a_part_of_the_coordinates_stays_each_clients_own():
    rng = np.random.default_rng(2)
    models, kept = rng.normal(size=(2, 5)).astype(np.float32), rng.normal(size=(3, 5)).astype(np.float32)
    inner = Mixing(sparse.csr_array(np.array([[0.5, 0.5], [1, 0], [0, 1.0]])))
    made = Partly(inner, slice(3, 5), np.array([0, -1, 1])).apply(models, kept)
    np.testing.assert_array_equal(made[:, :3], inner.apply(models, kept)[:, :3])
    np.testing.assert_array_equal(made[:, 3:], [models[0, 3:], kept[1, 3:], models[1, 3:]])
    nobody = Mixing(sparse.csr_array((3, 2)))
    assert Partly(nobody, slice(3, 5), np.array([0, -1, -1])).uses().tolist() == [True, False]


def test_what_is_anothers_cannot_be_ones_own():
    hears = sparse.csr_array(np.array([[1, 1], [1, 1]], bool))
    plan = Plan([0, 1], [0, 1], hears, [0, 1], SGD(), route="peers", follows=np.arange(2))
    replies = admit(plan, np.zeros((2, 2), np.float32), 1, [Reply(i, np.ones(2, np.float32), 1, 1) for i in (0, 1)])
    inner = Mixing(sparse.csr_array(np.full((2, 2), 0.5)))
    Partly(inner, slice(0, 1), np.array([0, 1])).check(plan, replies)
    with pytest.raises(ValueError, match="must be its own reply's"):
        Partly(inner, slice(0, 1), np.array([1, 0])).check(plan, replies)


def test_leaders_are_a_product_of_two_mixings():
    members = rows_to_one(sparse.csr_array(np.array([[1, 3, 0], [0, 0, 1.0]])))
    leaders = rows_to_one(sparse.csr_array(np.array([[1, 1.0]])))
    both = chain(members, leaders, sparse.csr_array(members.weights > 0))
    assert isinstance(both, Mixing)
    np.testing.assert_allclose(both.weights.toarray(), [[0.125, 0.375, 0.5]])


PLAN = Plan([0, 1, 2], [0, 0, 0], np.array([[1, 1, 0], [0, 0, 1]]), [0, 0], SGD())
REPLIES = admit(PLAN, np.zeros((1, 2), np.float32), 1, [Reply(i, np.ones(2, np.float32), 1, 1) for i in (0, 1, 2)])


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ([[0.5, 0.4, 0], [0, 0, 1]], "row 0 sums to 0.9"),
        ([[0.5, 0, 0.5], [0, 0, 1]], "no hearing"),
        ([[1.5, -0.5, 0], [0, 0, 1]], "not negative"),
        ([[np.nan, 0, 0], [0, 0, 1]], "finite"),
        ([[1.0, 0, 0]], "targets × replies"),
    ],
)
def test_a_mixing_that_breaks_the_plan_is_refused(weights, says):
    with pytest.raises(ValueError, match=says):
        Mixing(sparse.csr_array(np.array(weights))).check(PLAN, REPLIES)


def test_an_empty_row_keeps_what_it_had():
    mixing = Mixing(sparse.csr_array(np.array([[0, 0, 0], [0, 0, 1.0]])))
    mixing.check(PLAN, REPLIES)
    kept = np.array([[5, 5], [6, 6]], np.float32)
    assert mixing.apply(REPLIES.models, kept).tolist() == [[5, 5], [1, 1]]


def test_a_statistic_is_taken_once_for_targets_that_hear_the_same():
    calls = []

    def largest(models):
        calls.append(len(models))
        return models.max(axis=0)

    support = sparse.csr_array(np.array([[1, 1, 0], [0, 0, 0], [1, 1, 0], [0, 1, 1]], bool))
    statistic = Statistic(support, largest)
    made = statistic.apply(np.array([[1.0], [5.0], [9.0]], np.float32), np.zeros((4, 1), np.float32))
    assert made.ravel().tolist() == [5, 0, 5, 9]
    assert calls == [2, 2]
    assert statistic.uses().tolist() == [True, True, True]


@pytest.mark.parametrize(
    ("support", "says"),
    [([[1, 1], [1, 1]], "takes in what the plan allowed no hearing of"), ([[1, 1]], "must be targets × replies")],
)
def test_a_statistic_that_breaks_the_plan_is_refused(support, says):
    hears = sparse.csr_array(np.array([[1, 0], [1, 1]], bool))
    plan = Plan(np.arange(2), np.zeros(2, int), hears, np.zeros(2, int), SGD())
    models = np.zeros((1, 3), np.float32)
    replies = admit(plan, models, 1, [Reply(k, models[0], 1, 1) for k in range(2)])
    with pytest.raises(ValueError, match=says):
        Statistic(sparse.csr_array(np.array(support, bool)), np.sum).check(plan, replies)
