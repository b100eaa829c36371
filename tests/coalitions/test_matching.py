from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import seeds
from coterie.coalitions.matching import Market, blocking_pairs, deferred_acceptance
from tests.oracles import deferred


def random_market(seed: int, followers: int, leaders: int, share: float, ties: bool) -> Market:
    dice = np.random.Generator(np.random.PCG64(seed))
    pairs = np.argwhere(dice.random((followers, leaders)) < share)
    likes = dice.integers(0, 3, (2, len(pairs))) if ties else dice.permutation(2 * len(pairs)).reshape(2, -1)
    return Market(pairs[:, 0], pairs[:, 1], *likes)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 5), st.integers(1, 3), st.booleans(), st.data())
def test_the_matching_is_stable_and_the_best_one_for_every_follower(seed, followers, leaders, ties, data):
    market = random_market(seed, followers, leaders, 0.7, ties)
    quotas = data.draw(st.lists(st.integers(0, 3), min_size=leaders, max_size=leaders))
    found = deferred_acceptance(market, followers, quotas)
    pairs = list(zip(market.follower.tolist(), market.leader.tolist(), strict=True))
    by_follower = dict(zip(pairs, market.liked_by_follower.tolist(), strict=True))
    by_leader = dict(zip(pairs, market.liked_by_leader.tolist(), strict=True))
    stable = list(deferred.all_stable(by_follower, by_leader, followers, quotas))
    assert found.tolist() in stable
    if not ties:
        liked = np.array([[by_follower.get((f, leader), -1.0) for f, leader in enumerate(other)] for other in stable])
        mine = np.array([by_follower.get((f, leader), -1.0) for f, leader in enumerate(found.tolist())])
        assert (mine >= liked).all()


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4), st.booleans())
def test_blocking_pairs_are_those_who_would_rather_have_each_other(seed, followers, leaders, ties):
    market = random_market(seed, followers, leaders, 0.8, ties)
    dice = np.random.Generator(np.random.PCG64(seed + 1))
    quotas = dice.integers(0, 3, leaders).tolist()
    found, room = np.full(followers, -1), list(quotas)
    for pair in dice.permutation(len(market.follower)).tolist():
        f, leader = int(market.follower[pair]), int(market.leader[pair])
        if found[f] < 0 and room[leader] and dice.random() < 0.6:
            found[f], room[leader] = leader, room[leader] - 1
    pairs = list(zip(market.follower.tolist(), market.leader.tolist(), strict=True))
    likes = [dict(zip(pairs, column.tolist(), strict=True)) for column in (market.liked_by_follower, market.liked_by_leader)]
    inside = [[f for f in range(followers) if found[f] == leader] for leader in range(leaders)]
    expected = [
        entry for entry, (f, leader) in enumerate(pairs) if deferred.blocks(f, leader, tuple(found), inside, *likes, quotas)
    ]
    assert blocking_pairs(market, found, quotas).tolist() == expected


def test_quotas_hold_at_scale_and_it_is_quick():
    dice = seeds.rng(1, "market")
    follower = np.repeat(np.arange(50_000), 5)
    leader = (dice.integers(0, 10_000, 50_000)[:, np.newaxis] + np.arange(5) * 997).ravel() % 10_000
    market = Market(follower, leader, dice.random(250_000), dice.random(250_000))
    started = perf_counter()
    found = deferred_acceptance(market, 50_000, np.full(10_000, 4))
    assert perf_counter() - started < 10
    assert np.bincount(found[found >= 0]).max() <= 4
    assert len(blocking_pairs(market, found, np.full(10_000, 4))) == 0


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Market([0, 0], [1, 1], [1, 1], [1, 1]), "a pair is listed twice"),
        (lambda: Market([0], [1], [1, 2], [1]), "one entry for each pair"),
        (lambda: Market([0], [-1], [1], [1]), "numbered from 0"),
        (lambda: Market([0], [1], [np.nan], [1]), "must be numbers"),
        (lambda: deferred_acceptance(Market([0], [1], [1], [1]), 1, [1]), "a leader 1, but only 1 quotas"),
        (lambda: deferred_acceptance(Market([3], [0], [1], [1]), 2, [1]), "a follower 3, but only 2"),
        (lambda: deferred_acceptance(Market([0], [0], [1], [1]), 1, [-1]), "quotas"),
    ],
)
def test_impossible_markets_are_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()
