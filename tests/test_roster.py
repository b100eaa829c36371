import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.roster import Roster, natural


@given(st.permutations([f"client-{i}" for i in range(12)]))
def test_rows_are_in_key_order_and_facts_follow_their_keys(keys):
    roster = Roster.of(keys, size=[int(key.split("-")[1]) for key in keys])
    assert roster.keys == tuple(f"client-{i}" for i in range(12))
    assert roster["size"].tolist() == list(range(12))
    assert all(roster.id_of(key) == i for i, key in enumerate(roster.keys))


@given(st.lists(st.text(max_size=5), unique=True))
def test_any_keys_can_be_sorted(keys):
    assert sorted(keys, key=natural) == sorted(sorted(keys), key=natural)


def test_shares_sum_to_one_even_if_nobody_holds_anything():
    roster = Roster.of("abc", size=[0, 0, 0])
    np.testing.assert_allclose(roster.share(), 1 / 3)
    roster = Roster.of("abc", size=[1, 3, 6])
    np.testing.assert_allclose(roster.share(np.array([1, 2])), [1 / 3, 2 / 3])


def test_facts_cannot_be_changed_in_place():
    size = np.array([1, 2])
    roster = Roster.of("ab", size=size)
    with pytest.raises(ValueError, match="read-only"):
        roster["size"][0] = 9
    size[0] = 9
    assert roster["size"][0] == 1


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Roster.of(["a", "a"], size=[1, 2]), "stand twice: a"),
        (lambda: Roster.of("ab", price=[1, 2]), "'size'"),
        (lambda: Roster(("a", "b"), {"size": np.array([1])}), "1,"),
        (lambda: Roster.of("ab", size=[1, 2])["prize"], "known: size"),
    ],
)
def test_bad_rosters_say_what_is_wrong(make, says):
    with pytest.raises((ValueError, KeyError), match=says):
        make()
