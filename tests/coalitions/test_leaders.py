import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN
from sklearn.metrics import adjusted_rand_score

from coterie import seeds
from coterie.coalitions.leaders import Masters, StrongCluster, scaled_within
from coterie.roster import Roster

FACTS = ("cpu", "ram", "bandwidth", "latency")


def roster_of(facts: np.ndarray) -> Roster:
    keys = [f"{row:03d}" for row in range(len(facts))]
    return Roster.of(keys, size=np.ones(len(facts)), **dict(zip(FACTS, facts.T, strict=True)))


def ranked_by_hand(facts: list[list[float]], members: list[int], weights: tuple[float, ...]) -> list[int]:
    def hat(fact: int, member: int) -> float:
        column = [facts[other][fact] for other in members]
        return (facts[member][fact] - min(column)) / (max(column) - min(column)) if max(column) > min(column) else 0.0

    def key(member: int) -> tuple[float, ...]:
        cpu, ram, bandwidth, latency = (hat(fact, member) for fact in range(4))
        score = weights[0] * cpu + weights[1] * ram + weights[2] * bandwidth + weights[3] * (1 - latency)
        return (-round(score, 12), latency, -bandwidth, member)

    return sorted(members, key=key)


@settings(max_examples=120, deadline=None)
@given(st.integers(1, 12), st.integers(0, 10**6), st.sampled_from([(0.25,) * 4, (0.0, 1.0, 0.5, 0.0), (0.0,) * 4]))
def test_masters_and_stand_ins_are_the_first_two_by_score_and_ties(clients, seed, weights):
    dice = np.random.Generator(np.random.PCG64(seed))
    facts = dice.integers(0, 4, (clients, 4)).astype(float)
    labels = np.unique(dice.integers(-1, 3, clients), return_inverse=True)[1] - 1
    masters, stand_ins = Masters(*weights).elect(roster_of(facts), labels)
    for group in range(labels.max(initial=-1) + 1):
        order = ranked_by_hand(facts.tolist(), np.flatnonzero(labels == group).tolist(), weights)
        assert masters[group] == order[0]
        assert stand_ins[group] == (order[1] if len(order) > 1 else -1)
    assert len(masters) == len(stand_ins) == labels.max(initial=-1) + 1


def test_nobody_in_a_coalition_has_no_masters():
    masters, stand_ins = Masters().elect(roster_of(np.ones((3, 4))), [-1, -1, -1])
    assert len(masters) == len(stand_ins) == 0


def test_what_is_not_known_cannot_be_scaled():
    with pytest.raises(ValueError, match="finite"):
        scaled_within([1.0, np.nan], np.zeros(2, np.intp))
    with pytest.raises(ValueError, match="cpu: a weight"):
        Masters(cpu=-1)


def tiers(clients: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """One fifth has four times the machine of the others, with 20 % noise; data scores have nothing to do with it."""
    dice = seeds.rng(seed, "tiers", clients)
    strong = dice.permutation(clients) < 0.2 * clients
    machine = np.where(strong[:, np.newaxis], 4.0, 1.0) * np.exp(dice.normal(0, 0.2, (clients, 3)))
    counts = dice.multinomial(200, dice.dirichlet(np.full(10, 0.5), clients)) * dice.lognormal(0, 0.5, (clients, 1))
    shares = counts / counts.sum(axis=1, keepdims=True)
    entropy = -(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=1)
    data = np.column_stack([(counts > 0).mean(axis=1), counts.sum(axis=1) / counts.sum(), entropy])
    return np.hstack([machine, data]), strong


@pytest.mark.parametrize("clients", [100, 500, 5000])
def test_the_strong_of_a_tiered_population_lead(clients):
    found, pure = [], []
    for seed in range(10):
        features, strong = tiers(clients, seed)
        leaders = StrongCluster().find(features, seeds.rng(seed, "sample")).leaders
        found.append(strong[leaders].sum() / strong.sum())
        pure.append(strong[leaders].mean())
    assert np.mean(found) >= 0.65
    assert np.mean(pure) >= 0.9


def test_a_continuum_has_no_strong_cluster_and_the_top_fifth_leads():
    features = seeds.rng(1, "continuum").random((200, 6))
    strong = StrongCluster().find(features, seeds.rng(1, "sample"))
    assert (strong.how, len(strong.leaders)) == ("top fifth", 40)
    assert "would lead" in strong.why
    norm = np.linalg.norm((features - features.min(axis=0)) / np.ptp(features, axis=0), axis=1)
    assert norm[strong.leaders].min() >= np.delete(norm, strong.leaders).max()


def test_a_weak_cluster_does_not_lead():
    """The usual knee's failure: at a small eps the spread-out strong are noise and a weak cluster is all there is."""
    dice = seeds.rng(1, "weak")
    weak, middle, strong = dice.normal(0, 0.01, (30, 6)), dice.uniform(0.3, 0.7, (50, 6)), dice.uniform(0.5, 1.0, (20, 6))
    features = np.clip(np.concatenate([weak, middle, strong]), 0, None)
    found = StrongCluster(eps=0.05).find(features, seeds.rng(1, "sample"))
    assert found.how == "top fifth"
    assert (found.leaders >= 30).all()


@pytest.mark.parametrize("clients", [1, 2, 4])
def test_a_handful_has_one_leader(clients):
    found = StrongCluster().find(np.arange(clients * 2.0).reshape(clients, 2), seeds.rng(1, "sample"))
    assert found.leaders.tolist() == [clients - 1]


def test_all_alike():
    found = StrongCluster().find(np.ones((10, 6)), seeds.rng(1, "sample"))
    assert (found.leaders.tolist(), found.how) == ([0, 1], "top fifth")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.floats(0.05, 0.6), st.integers(1, 6))
def test_clusters_are_those_of_dbscan(seed, count, eps, near):
    points = np.random.Generator(np.random.PCG64(seed)).random((count, 2))
    found = StrongCluster(eps=eps, min_samples=near).clusters(points, seeds.rng(1))
    known = DBSCAN(eps=eps, min_samples=near).fit(points)
    cores = known.core_sample_indices_
    assert np.array_equal(found < 0, known.labels_ < 0)
    assert len(cores) == 0 or adjusted_rand_score(known.labels_[cores], found[cores]) == 1.0
    for k in np.setdiff1d(np.flatnonzero(found >= 0), cores):  # DBSCAN leaves open which cluster a border point is in
        assert found[k] == found[cores[np.linalg.norm(points[cores] - points[k], axis=1).argmin()]]


def test_a_sample_finds_nearly_the_same_leaders_as_the_whole():
    features, strong = tiers(3000, 1)
    whole = StrongCluster(eps=0.35, min_samples=8).find(features, seeds.rng(1, "sample"))
    sampled = StrongCluster(eps=0.35, min_samples=8, sample=1500).find(features, seeds.rng(1, "sample"))
    assert whole.how == sampled.how == "cluster"
    both = np.intersect1d(whole.leaders, sampled.leaders)
    assert len(both) >= 0.9 * max(len(whole.leaders), len(sampled.leaders))
    assert strong[sampled.leaders].mean() >= 0.9


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: StrongCluster(eps=0.0), "eps"),
        (lambda: StrongCluster(min_samples=0), "min_samples"),
        (lambda: StrongCluster(sample=0), "sample"),
        (lambda: StrongCluster().find(np.empty((0, 6)), seeds.rng(1)), "at least one client"),
        (lambda: StrongCluster().find(np.full((3, 2), np.inf), seeds.rng(1)), "finite"),
    ],
)
def test_impossible_populations_are_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()
