import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.neighbors.beliefs import Beliefs, cosines, cosines_within
from coterie.neighbors.topologies import graph
from tests.oracles import afind


@settings(deadline=None)
@given(
    st.integers(2, 7),
    st.integers(1, 6),
    st.sampled_from(["full", "ring", "half"]),
    st.sampled_from(["sum", "mean"]),
    st.booleans(),
    st.sampled_from([0.0, 0.2, 1.0]),
    st.floats(0.1, 2),
    st.floats(0.1, 2),
    st.integers(0, 999),
)
def test_beliefs_are_those_of_one_client_after_another_while_neighbors_come_and_go(
    clients, rounds, topology, entropy, relative, memory, tau, nu, seed
):
    edges, rng = graph(topology, clients, seed), np.random.default_rng(seed)
    beliefs = Beliefs.first(edges)
    fields = {"tau": tau, "nu": nu, "entropy": entropy, "relative": relative, "memory": memory}
    plain = [afind.Client(edges.cols[edges.rows == i].tolist(), **fields) for i in range(clients)]
    for _ in range(rounds):
        present = np.flatnonzero(rng.random(clients) < 0.7)
        proxies = rng.standard_normal((clients, 3))
        scale = edges.sums(np.ones(len(edges)))[edges.rows] if relative else 1.0
        core = edges.among(present) & (beliefs.p * scale >= beliefs.threshold[edges.rows])
        found = np.where(core, cosines(proxies[edges.rows], proxies[edges.cols]), np.nan)
        beliefs = beliefs.ranked(edges, core, found, nu, memory).confident(edges, core, tau, entropy)
        for i in present.tolist():
            friends = edges.cols[core & (edges.rows == i)].tolist()
            assert friends == plain[i].coreset(set(present.tolist()) - {i})
            plain[i].learn(proxies[i], {j: proxies[j] for j in friends})
        np.testing.assert_allclose(beliefs.threshold, [one.threshold for one in plain], rtol=1e-6)
        np.testing.assert_allclose(beliefs.p, [p for one in plain for _, p in sorted(one.p.items())], rtol=1e-6)
        np.testing.assert_allclose(edges.sums(beliefs.p), 1.0, rtol=1e-9)


def test_a_restart_keeps_what_is_known_but_contacts_everybody():
    edges = graph("full", 3, 0)
    measured = np.ones(len(edges), dtype=bool)
    found = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    after = Beliefs.first(edges).ranked(edges, measured, found, 0.5, 0.2).confident(edges, measured, 2.0, "mean")
    again = after.restarted(edges, np.array([True, False, False]))
    assert again.p[:2].tolist() == [0.5, 0.5] and again.threshold[0] == 0.0
    assert np.array_equal(again.p[2:], after.p[2:]) and np.array_equal(again.similarity, after.similarity)


def test_what_is_not_known_has_no_cosine():
    ours = np.array([[1.0, 1.0], [np.nan, 0.0], [0.0, 0.0]])
    assert np.isnan(cosines(ours, np.ones((3, 2)))).tolist() == [False, True, False]


@given(st.integers(1, 12), st.integers(0, 80), st.integers(0, 999))
def test_cosines_within_a_table_are_those_of_its_pairs(count, pairs, seed):
    """Few pairs go pair by pair, many by blocks: 12 rows are dense from 18 pairs on."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((count, 5)).astype(np.float32)
    rows[rng.random(count) < 0.2] = 0
    rows[rng.random(count) < 0.2] = np.nan
    ours, theirs = rng.integers(0, count, (2, pairs))
    np.testing.assert_allclose(cosines_within(rows, ours, theirs), cosines(rows[ours], rows[theirs]), atol=1e-6)


def test_blocks_cut_a_table_of_any_size(monkeypatch):
    monkeypatch.setattr("coterie.neighbors.beliefs.AT_ONCE", 7)
    rows = np.random.default_rng(1).standard_normal((9, 3))
    ours, theirs = np.divmod(np.random.default_rng(2).permutation(81), 9)
    np.testing.assert_allclose(cosines_within(rows, ours, theirs), cosines(rows[ours], rows[theirs]), atol=1e-9)
    np.testing.assert_allclose(cosines_within(rows, ours[:5], theirs[:5]), cosines(rows[ours[:5]], rows[theirs[:5]]), atol=1e-9)
