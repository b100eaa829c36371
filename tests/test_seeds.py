import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from coterie import seeds

words = st.lists(st.one_of(st.integers(0, 10**6), st.text(max_size=6)), max_size=4).map(tuple)


@given(words, words)
def test_addresses_that_differ_give_other_numbers(one, other):
    assert (seeds.derive(*(1, *one)) == seeds.derive(*(1, *other))) == (one == other)


def test_a_number_and_its_text_are_two_addresses():
    assert seeds.derive(1, 2) != seeds.derive(1, "2")


def test_the_same_in_another_process():
    code = "from coterie import seeds; print(seeds.derive(7, 'train', 3), seeds.rng(7, 'x').integers(10**9))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert printed == [str(seeds.derive(7, "train", 3)), str(seeds.rng(7, "x").integers(10**9))]


def test_order_of_use_does_not_matter():
    first, second = seeds.rng(1, "a").random(3), seeds.rng(1, "b").random(3)
    assert (seeds.rng(1, "b").random(3) == second).all()
    assert (seeds.rng(1, "a").random(3) == first).all()
    assert (first != second).all()
