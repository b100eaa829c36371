import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from coterie.neighbors.edges import Edges

matrices = st.integers(1, 7).flatmap(
    lambda n: st.lists(st.booleans(), min_size=n * n, max_size=n * n).map(lambda flat: np.array(flat).reshape(n, n))
)


@given(matrices, st.integers(0, 9))
def test_edges_are_the_entries_of_a_matrix(matrix, seed):
    edges = Edges.of(sparse.csr_array(matrix))
    assert np.array_equal(edges.matrix().toarray(), matrix)
    few = np.random.default_rng(seed).random(len(edges)) < 0.5
    assert np.array_equal(edges.find(edges.rows[few], edges.cols[few]), np.flatnonzero(few))
    present = np.flatnonzero(np.random.default_rng(seed).random(len(matrix)) < 0.5)
    there = {(i, j) for i in present.tolist() for j in present.tolist()}
    assert edges.among(present).tolist() == [
        pair in there for pair in zip(edges.rows.tolist(), edges.cols.tolist(), strict=True)
    ]


@given(matrices, st.integers(0, 4), st.integers(0, 9))
def test_a_softmax_and_the_first_few_are_taken_client_by_client(matrix, count, seed):
    edges, rng = Edges.of(sparse.csr_array(matrix)), np.random.default_rng(seed)
    logits, keys = 50 * rng.standard_normal(len(edges)), rng.integers(0, 3, len(edges))
    noise = rng.random(len(edges))
    soft, first = edges.softmax(logits), edges.first(count, keys, noise)
    for i in range(edges.clients):
        mine = np.flatnonzero(edges.rows == i)
        expected = np.exp(logits[mine] - logits[mine].max()) if len(mine) else np.empty(0)
        np.testing.assert_allclose(soft[mine], expected / expected.sum() if len(mine) else expected, rtol=1e-9)
        best = sorted(mine.tolist(), key=lambda edge: (keys[edge], noise[edge]))[:count]
        assert set(np.flatnonzero(first & (edges.rows == i)).tolist()) == set(best)
