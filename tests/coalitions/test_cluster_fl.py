import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from coterie.aggregators import BySize
from coterie.backbones import Prox
from coterie.coalitions.cluster_fl import ClusterFL, sketch, unit
from coterie.federation import Layout
from coterie.recipe import ByCoalition, play
from coterie.selectors import Uniform
from coterie.testing import check_former
from tests.oracles.quadratic import Quadratic

GROUPS = np.repeat(np.arange(3), 5)


def federation(dim=4, noise=0.05, **settings):
    rng = np.random.default_rng(1)
    return Quadratic(3 * np.eye(3, dim)[GROUPS] + noise * rng.normal(size=(15, dim)), **settings)


def played(former, rounds, per_round=None, fed=None):
    fed = federation() if fed is None else fed
    recipe = ByCoalition(Prox(0.001), BySize(), former, selector=per_round and Uniform(per_round))
    return list(play(recipe, fed, rounds)), fed


def test_it_keeps_the_contract():
    check_former(ClusterFL(groups=3))
    check_former(ClusterFL(groups=4, recluster_every=1, max_dim=2))


@pytest.mark.parametrize("max_dim", [512, 3])
def test_clients_that_learn_alike_share_a_model_whether_compared_whole_or_by_sketch(max_dim):
    records, fed = played(ClusterFL(groups=3, recluster_every=2, max_dim=max_dim), 3)
    assert adjusted_rand_score(GROUPS, records[-1].state["former"].labels) == 1.0
    assert len(fed.models) == 3 and adjusted_rand_score(GROUPS, fed.follows) == 1.0


def test_all_are_together_until_clusters_are_looked_for_and_then_for_as_many_rounds():
    records, _ = played(ClusterFL(groups=3, recluster_every=3), 6)
    counts = [len(np.unique(record.state["former"].labels)) for record in records]
    assert counts[:2] == [1, 1] and counts[2] == 3
    for t in (3, 4):
        assert np.array_equal(records[t].state["former"].labels, records[2].state["former"].labels)


def test_those_never_seen_are_with_the_largest_cluster():
    records, _ = played(ClusterFL(groups=2, recluster_every=1), 2, per_round=4)
    state = records[-1].state["former"]
    assert 4 <= state.seen.sum() < 15 and not state.seen.all()
    largest = np.bincount(state.labels[state.seen]).argmax()
    assert (state.labels[~state.seen] == largest).all()


def test_partial_participation_finds_the_groups_once_everybody_was_seen():
    records, _ = played(ClusterFL(groups=3, recluster_every=1), 14, per_round=5)
    state = records[-1].state["former"]
    assert state.seen.all() and adjusted_rand_score(GROUPS, state.labels) == 1.0


def test_sketches_keep_distances_and_leave_statistics_out():
    rng = np.random.default_rng(0)
    layout = Layout(("0.weight", "1.running_mean", "2.weight"), ((3000,), (50,), (1000,)), frozenset({"1.running_mean"}))
    models = rng.normal(size=(12, layout.size)).astype(np.float32)
    small = sketch(models, layout, 512, seed=7)
    assert small.shape == (12, 512)
    whole = np.delete(models, np.s_[3000:3050], axis=1)
    ratio = (
        np.linalg.norm(small[:, None] - small, axis=2)[np.triu_indices(12, 1)]
        / np.linalg.norm(whole[:, None] - whole, axis=2)[np.triu_indices(12, 1)]
    )
    assert abs(ratio.mean() - 1) < 0.05 and (abs(ratio - 1) < 0.25).all()
    other = models.copy()
    other[:, 3000:3050] = 9
    assert np.array_equal(sketch(other, layout, 512, seed=7), small)
    assert not np.array_equal(sketch(models, layout, 512, seed=8), small)
    assert np.array_equal(sketch(models, layout, 5000, seed=7), whole)


def test_unit_leaves_what_stands_at_zero():
    points = unit(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32))
    np.testing.assert_allclose(points, [[0.6, 0.8], [0, 0]], atol=1e-12)


@pytest.mark.parametrize("field", ["groups", "recluster_every", "max_dim"])
def test_refuses_what_is_no_count(field):
    with pytest.raises(ValueError, match=f"{field}: must be a whole number from 1, not 0"):
        ClusterFL(**{field: 0})
