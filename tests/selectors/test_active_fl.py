import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from coterie import play
from coterie.catalog import active_fl
from coterie.selectors import ActiveFL
from coterie.selectors.active_fl import whole
from coterie.testing import Chances, Toy
from tests.oracles.active_fl import odds_of_sets


@pytest.mark.parametrize(
    ("alphas", "per_round"), [((0.0, 0.5, 0.0), 2), ((0.5, 0.3, 0.34), 3), ((0.8, 1.0, 0.5), 2), ((0.75, 0.01, 0.1), 2)]
)
def test_sets_are_drawn_with_the_odds_of_the_definition(alphas, per_round):
    selector = ActiveFL(per_round, *alphas)
    toy = Toy(clients=6, seed=2)
    losses, times = np.array([0.2, 1.0, 0.7, 2.0, 1.5, 0.1]), 8_000
    values = selector.values(losses, toy.roster["size"])
    expected = odds_of_sets(values.tolist(), per_round, *alphas)
    counts = dict.fromkeys(expected, 0)
    for t in range(1, times + 1):
        counts[frozenset(selector.choose(toy.view(t).towards("choose"), losses).tolist())] += 1
    sets = list(expected)
    assert chisquare([counts[s] for s in sets], [times * expected[s] for s in sets]).pvalue > 0.001


def test_value_is_the_sum_over_the_root_of_the_size():
    losses, size = np.array([0.5, 2.0]), np.array([4, 9])
    np.testing.assert_allclose(ActiveFL(1).values(losses, size), losses * size / np.sqrt(size))
    np.testing.assert_allclose(ActiveFL(1, loss="mean").values(losses, size), losses / np.sqrt(size))


def test_everybody_is_asked_once_and_then_only_those_who_train_tell():
    toy = Toy(clients=8, seed=1)
    records = list(play(active_fl(3), toy, 3))
    assert [record.meter.evaluations for record in records] == [8, 0, 0]
    before, after = records[0].state["selector"], records[1].state["selector"]
    trained = records[1].answered
    np.testing.assert_array_equal(after[trained], records[1].facts["loss_before"])
    np.testing.assert_array_equal(np.delete(after, trained), np.delete(before, trained))


def test_who_was_absent_is_asked_when_it_is_first_seen():
    toy = Toy(clients=10, seed=5, chances=Chances(present=0.5))
    seen = set()
    for record in play(active_fl(2), toy, 6):
        new = set(record.available.tolist()) - seen
        assert record.meter.evaluations == len(new)
        seen |= new


def test_optimistic_asks_nobody_and_starts_with_those_never_seen():
    toy = Toy(clients=6, seed=1)
    records = list(play(active_fl(2, initial="optimistic", alpha1=0.5, alpha3=0.0), toy, 3))
    assert sum(record.meter.evaluations for record in records) == 0
    assert sorted(np.concatenate([record.asked for record in records]).tolist()) == [0, 1, 2, 3, 4, 5]


def test_who_never_answers_is_only_drawn_uniformly():
    losses = np.array([np.nan, 1.0, 2.0, 3.0])
    toy = Toy(clients=4, chances=Chances(answering=0.0))
    drawn = [ActiveFL(2, 0.0, 1.0, 0.0).choose(toy.view(t).towards("choose"), losses) for t in range(1, 200)]
    assert 0 not in np.concatenate(drawn)


@given(losses=st.lists(st.floats(0, 1e6), min_size=1, max_size=20), share=st.floats(0, 0.99))
def test_no_more_than_the_share_is_out_and_never_one_above_one_who_stays(losses, share):
    values = np.array(losses)
    out = np.isneginf(ActiveFL(1, alpha1=share).logits(values))
    assert out.sum() <= whole(share * len(values))
    assert values[out].max(initial=-1) < values[~out].min()


def test_refuses_shares_that_are_none():
    with pytest.raises(ValueError, match=r"alpha1: must be in \[0, 1\), not 1.5"):
        ActiveFL(5, alpha1=1.5)
